"""Aggregate functions: one object each, their accumulators, and the coverage thresholds of their promises."""
