"""Delivers answers, and each later version of them, to the places that people read them from."""
