"""A small and a large warehouse under the console, and its pages in a browser."""
