"""Spark SQL's scalar expressions over records, computed in columns by DuckDB."""
