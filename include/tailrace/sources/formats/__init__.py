"""The formats of files: CSV, JSON and Parquet, their columns and types, and the reading of a segment."""
