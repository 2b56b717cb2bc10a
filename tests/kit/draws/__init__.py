"""Input of tests: drawn, generated or listed."""
