"""Rows by key and pane, and the operator over them: what kinds that answer windows share."""
