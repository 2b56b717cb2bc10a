"""Experiments of paper 002: aggregates."""
