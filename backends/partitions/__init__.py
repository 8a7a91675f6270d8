"""Sequences of partitions: files of the user, examples, and what is measured of a sequence."""
