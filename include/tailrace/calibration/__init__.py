"""Calibration of the cache duration: the accuracy that each one gives, and the search for the smallest sufficient."""
