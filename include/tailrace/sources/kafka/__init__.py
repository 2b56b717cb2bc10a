"""A Kafka topic as a source, and the producer of answers."""
