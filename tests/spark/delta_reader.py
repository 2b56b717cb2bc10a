"""Spark SQL with Delta Lake's own jar reads tables that deltalake wrote: run as a process, prints rows and sums."""

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
for path in sys.argv[1:]:
    row = spark.sql(f"SELECT count(*) AS n, sum(tuples) AS t FROM delta.`{path}`").first()
    assert row is not None
    print(f"rows {row['n']} tuples {row['t']}")
spark.stop()
