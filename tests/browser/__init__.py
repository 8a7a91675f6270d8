"""Stories told to a real browser."""
