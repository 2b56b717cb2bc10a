"""Disorder handling of a query: ticks, its clock and frontier (the watermark), slack policies, coverage.

Each policy of slack K (allowed lateness) has its own file.
"""
