"""Panes and sliding windows: integers only."""
