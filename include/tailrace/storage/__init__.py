"""A query's tables and files: Delta tables, journal, checkpoint, status, proposals. No Spark."""
