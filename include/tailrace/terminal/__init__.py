"""The terminal: messages, progress, and tables of answers."""
