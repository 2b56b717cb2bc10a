"""Identity, versions and revision of answers."""
