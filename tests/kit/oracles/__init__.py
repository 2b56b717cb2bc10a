"""Slow, obvious answers, which share no code with the product."""
