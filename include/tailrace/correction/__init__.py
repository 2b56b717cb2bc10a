"""Corrections of late tuples: affected windows, the scan of history, later versions of answers, their quality."""
