"""Measured ratios against a peer or a plain baseline in the same run."""
