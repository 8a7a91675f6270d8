"""A folder of methods as discovery scans it."""
