"""Declared queries: their sections, their loading from a file, and their JSON Schema."""
