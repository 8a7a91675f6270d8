"""Tools of toy methods, found by scanning as any tool is."""
