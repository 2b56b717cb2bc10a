"""A chain of three queries on Spark: late tuples, corrections of all three, and the last table by one SQL statement.

`properties/test_chains.py` corrects in any order, restores and rebuilds, in process.
"""

from __future__ import annotations

import random

from kit.runs.chained_queries import answers, chain, disordered, expected, write
from tailrace.correction import history_scan
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions


def test_corrected_from_the_first_one_down_the_last_table_equals_one_sql_statement(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)  # however little is to be read, Spark reads it
    queries, warehouse = chain(tmp_path / "in"), tmp_path / "wh"
    events = disordered(random.Random(7), 120)
    for number, part in enumerate((events[:70], events[70:])):
        write(part, tmp_path / "in" / f"{number}.parquet")
        for query in queries:
            run(query, warehouse, RunOptions(flush=number == 1), spark=spark)
    truth = expected(events)
    assert answers(queries[2], warehouse) != truth
    for query in queries:
        run(query, warehouse, spark=spark)  # it reads what the correction above it has given
        assert correct(query, warehouse).changed, "versions of answers for the next query"
        assert Tables(Layout.for_query(warehouse, query.name)).read("late").num_rows
    assert answers(queries[2], warehouse) == truth
