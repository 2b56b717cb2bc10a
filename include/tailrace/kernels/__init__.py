"""Loops over columns that are compiled to machine code; every one has a numpy form beside it, which gives the same."""
