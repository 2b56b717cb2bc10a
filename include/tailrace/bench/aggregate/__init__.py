"""The experiments of paper 002."""
