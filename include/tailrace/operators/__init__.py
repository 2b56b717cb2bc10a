"""Incremental operators that the kinds share: over sliding windows, and over pairs of two streams."""
