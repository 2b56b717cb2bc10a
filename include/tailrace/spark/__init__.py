"""The engine on Spark: sessions, source, operator, sink, stream app. Beside it only the benchmarks import pyspark."""
