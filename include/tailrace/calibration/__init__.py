"""Calibration of the cache duration: how accurate which one would have been, and the search for the smallest enough."""
