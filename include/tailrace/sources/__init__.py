"""Streams as they come: file formats, feeds, the check of raw records, quarantine and history."""
