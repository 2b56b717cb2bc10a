"""The Delta tables of a query, each declared once."""
