"""Real programs and servers that tests start."""
