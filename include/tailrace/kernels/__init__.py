"""Loops over columns, compiled to machine code. Each has a numpy form with the same result."""
