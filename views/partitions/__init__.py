"""Figures and tables of a sequence of partitions, shared by the tools that make one."""
