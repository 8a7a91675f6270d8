"""One method per module, found by its name; the module's `METHOD` is its whole interface."""
