"""Experiments of paper 001: top-k."""
