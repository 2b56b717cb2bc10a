"""Sliding windows and their panes, in integer arithmetic."""
