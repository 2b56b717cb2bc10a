"""Advice to people who begin: a query file from a sample of their data, and checks of the machine that is to run it."""
