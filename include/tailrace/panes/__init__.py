"""Rows by key and pane, and the incremental window operator over them, shared by the kinds that answer windows."""
