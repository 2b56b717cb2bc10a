"""The mean of decimals: the double that is nearest to the exact mean."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.sliding import Sliding

TYPES = st.sampled_from([(10, 2), (18, 18), (30, 10), (38, 18), (38, 36)])


@st.composite
def decimals(draw) -> pa.Array:
    digits, scale = draw(TYPES)
    units = st.integers(-(10 ** (digits - 1)), 10 ** (digits - 1)) | st.integers(-99999, 99999)
    with localcontext(prec=60):
        values = [Decimal(unit).scaleb(-scale) for unit in draw(st.lists(units, min_size=1, max_size=7))]
        return pa.array(values, pa.decimal128(digits, scale))


@drawn(100)
@given(decimals())
def test_a_mean_of_decimals_is_the_nearest_double(column):
    section = NamedAggregatesSection.model_validate(
        {"function": NAMED, "each": {"mean": {"function": "avg", "column": "v"}}}
    )
    kind = aggregate_of(Sliding(1000, 1000), section, ColumnTypes(carried={"value_v": column.type}))
    place = pa.array(range(len(column)), pa.int64())
    times, names = dict.fromkeys(("event_time", "arrival_time"), place), place.cast(pa.string())
    tuples = pa.RecordBatch.from_pydict(
        {**times, "id": names, "key": pa.repeat(pa.scalar("k"), len(column)), "value_v": column}
    )
    (answer,) = kind.evaluate(tuples).to_pylist()
    exact = sum(map(Fraction, column.to_pylist())) / len(column)
    assert answer["mean"] == float(exact)
