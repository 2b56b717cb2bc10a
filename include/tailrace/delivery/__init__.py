"""Delivers answers, and each later version of them, to the targets from which people read."""
