"""Runs of queries in a test: in this process, by kills, over tables and streams."""
