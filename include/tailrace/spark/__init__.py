"""The engine on Spark: sessions, the source, the operator, the sink, the stream app. Only here is pyspark imported."""
