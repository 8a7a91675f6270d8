"""Numeric functions on arrays: no models, no files, no figures."""
