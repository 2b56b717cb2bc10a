"""The demonstration: the whole platform on a laptop, as its users have it."""
