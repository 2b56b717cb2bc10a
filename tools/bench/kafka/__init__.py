"""Measures the reading of a Kafka topic: ours beside Spark's Kafka connector."""
