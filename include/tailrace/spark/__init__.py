"""The engine on Spark: sessions, source, operator, sink, stream app.

Apart from it only the benchmarks import pyspark.
"""
