"""The answers of an interval of arrival, from real tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kit.draws.kind_samples import kind_of
from kit.runs.warehouse import EPOCH
from tailrace.correction.given_answers import read_given
from tailrace.engine import output_tables
from tailrace.ground.arrow.times import with_times
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables

KIND = kind_of("sum", size=100, slide=100)

#  batch       0           1 (a heartbeat)   2 (quiet)
#  ticks       1           0                 0
#  committed   EPOCH+100   EPOCH+700         EPOCH+900
#  F           EPOCH+100   EPOCH+100         EPOCH+300
METRICS = [(0, 1, 1, 100, 100), (1, 0, 0, 700, 100), (2, 0, 2, 900, 300)]
WITHHELD = [*METRICS[:2], (2, 0, 0, 900, 300)]
"""The same where the stream withheld all that closed when it was quiet."""

ANSWERS = [("a", 100, 100), ("a", 200, 100), ("b", 300, 100)]
"""Key, end of the window, and `as_of`: the last two closed when the stream was quiet."""


def ends_quiet(batch: int) -> bool:
    return batch == METRICS[-1][0]


@pytest.fixture(params=[METRICS, WITHHELD], ids=["given", "withheld"])
def tables(tmp_path, request) -> Tables:
    tables, wanted = Tables(Layout.for_query(tmp_path, "readings")), schemas(KIND)
    tables.create({name: wanted[name] for name in ("results", "metrics")})
    results = [
        {"key": key, "window_start": EPOCH + end - 100, "window_end": EPOCH + end, "as_of": EPOCH + as_of}
        for key, end, as_of in ANSWERS
    ]
    metrics = [
        {"batch": batch, "task": 0, "ticks": ticks, "answers": given, "committed": EPOCH + until, "frontier": EPOCH + f}
        | ({} if given or not ends_quiet(batch) else {"counts": [(output_tables.WITHHELD, 2)]})
        for batch, ticks, given, until, f in request.param
    ]
    for name, rows in (("results", results), ("metrics", metrics)):
        columns = {field.name: [row.get(field.name) for row in rows] for field in wanted[name]}
        types = [field.with_type(pa.int64()) if pa.types.is_timestamp(field.type) else field for field in wanted[name]]
        tables.append(name, with_times(pa.table(columns, pa.schema(types)), wanted[name]), "app", 0)
    return tables


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0, 100, [100, 200, 300]),  # by `as_of`
        (100, 700, []),
        (0, 50, []),
        (600, 800, [200, 300]),  # by what was committed when the stream was quiet, after both corrections above
        (700, 900, [200, 300]),
        (900, 1000, []),
    ],
)
def test_what_closed_by_quiet_belongs_to_an_interval_that_was_not_committed_before(tables, low, high, ends):
    given = read_given(tables, KIND.answers, EPOCH + low, EPOCH + high)
    assert sorted(end - EPOCH for end in given["window_end"].to_pylist()) == ends
