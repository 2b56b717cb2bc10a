"""The discovery of files: which are new, which are whole, and in which order they are read."""
