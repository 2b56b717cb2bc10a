"""Spark SQL with Delta Lake's own jar reads tables that deltalake wrote: prints rows and sums.

A process of its own, which is given the directory of the jar, and the tables.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

jars, *paths = sys.argv[1:]
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.databricks.delta.snapshotPartitions", "2")
    .config("spark.jars", ",".join(map(str, Path(jars).glob("*.jar"))))
    .getOrCreate()
)
for path in paths:
    row = spark.sql(f"SELECT count(*) AS n, sum(tuples) AS t FROM delta.`{path}`").first()
    assert row is not None
    print(f"rows {row['n']} tuples {row['t']}")
spark.stop()
