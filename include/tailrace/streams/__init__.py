"""A batch of tuples: reading, checks and quarantine; replay and delay models."""
