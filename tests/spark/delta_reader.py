"""Spark with Delta Lake's own jar reads a table that deltalake wrote: run as a process, prints rows and the sum."""

from __future__ import annotations

import os
import sys

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.databricks.delta.snapshotPartitions", "2")
)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
row = spark.read.format("delta").load(sys.argv[1]).selectExpr("count(*) as n", "sum(tuples) as t").first()
assert row is not None
print(f"rows {row['n']} tuples {row['t']}")
spark.stop()
