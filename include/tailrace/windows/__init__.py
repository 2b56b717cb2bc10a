"""Sliding windows in integer arithmetic, and the rows of their panes."""
