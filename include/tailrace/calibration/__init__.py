"""Calibration of the cache duration: the accuracy of each duration, and the search for the smallest sufficient one."""
