"""Answers: how they are identified, versioned and revised."""
