"""Delta Lake's own jar for Spark, of the version of the installed delta-spark."""

from __future__ import annotations

from importlib.metadata import version

from bench.cached_jars import CachedJars
from bench.maven import Artifact

_DELTA, _SPARK = version("delta-spark"), version("pyspark").rpartition(".")[0]
JARS = CachedJars(f"delta-spark-{_DELTA}", (Artifact("io.delta", f"delta-spark_{_SPARK}_2.13", _DELTA),))
