"""Guards of the room `bench`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "tables of measurements: ratios among what fits",
        "bench/screen_tables.py",
        "columns = in_order(rows[0])",
        "columns = list(rows[0])",
        ("tests/unit/bench/test_screen_tables.py",),
    ),
    Mutation(
        "the benchmark: Spark's own contestants start without our JVM's options",
        "bench/spark_peer.py",
        "inherited = {name: value for name, value in os.environ.items() if name not in _OURS}",
        "inherited = dict(os.environ)",
        ("tests/unit/bench/test_spark_peer.py",),
    ),
)
