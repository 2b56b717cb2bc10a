"""The demonstration: the platform as its users have it, on a laptop."""
