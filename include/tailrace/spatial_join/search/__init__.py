"""Searches for related pairs of geometries: by local indexes, or by an external engine (paper 003)."""
