"""Joins of two streams, by window and by interval (paper 003)."""
