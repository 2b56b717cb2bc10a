"""Translates a query's SQL text to the sections of a query file, and back."""
