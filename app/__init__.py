"""Doors to the engine: command line, and in time the page and the API."""
