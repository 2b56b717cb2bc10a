"""Spatial joins of a stream with a table, and of two streams by window or by interval (paper 003)."""
