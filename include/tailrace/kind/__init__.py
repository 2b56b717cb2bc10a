"""The protocol of a query kind, and its optional capabilities."""
