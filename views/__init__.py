"""Figures and forms. Figures are pure functions of a result; forms know the page, never a model."""
