"""Geometries, their coordinate systems, relations and distances, in columns."""
