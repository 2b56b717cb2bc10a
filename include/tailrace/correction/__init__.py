"""Corrections of late tuples: affected answers, the scan of history, later versions of answers, their quality."""
