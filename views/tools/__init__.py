"""One tool per module, named as its method; the module's `TOOL` is its whole interface."""
