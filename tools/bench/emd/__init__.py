"""The experiments of paper 000: similarity joins of histogram streams under the Earth Mover's Distance."""
