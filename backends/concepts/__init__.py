"""Concept sets: the built-in vocabularies and the table format of the user's own."""
