"""Loops over columns that are compiled to machine code. Each also has a numpy form with the same result."""
