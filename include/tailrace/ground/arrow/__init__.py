"""Columns and rows of Arrow and NumPy: types, groups, times, keys, and their wire format."""
