"""The documentation site: its configuration, and what writes the reference."""
