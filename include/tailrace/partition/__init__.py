"""Assignment of tuples to tasks."""
