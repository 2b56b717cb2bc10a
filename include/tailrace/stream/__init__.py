"""The driver's part of a stream that needs no Spark: it opens sources, plans batches and reports its status."""
