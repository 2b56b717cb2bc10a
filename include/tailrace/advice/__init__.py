"""Advice for beginners: a query file from a sample of their data, and checks of their machine."""
