"""The driver's part of a stream that is independent of Spark.

It opens sources, plans batches and reports its status.
"""
