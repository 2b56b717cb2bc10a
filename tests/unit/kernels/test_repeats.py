"""The search for a repeated id by compiled code."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.kernel_forms import compiled_form, numpy_form
from tailrace.engine.repeats import are_distinct


@pytest.mark.parametrize("form", [compiled_form, numpy_form])
@given(ids=st.lists(st.integers(-20, 20), max_size=30), high=st.booleans())
def test_integers_are_known_to_be_distinct_in_either_form(form, ids: list[int], high: bool) -> None:
    shift = 2**63 - 21 if high else 0
    with form():
        known = are_distinct(pa.array([each + shift for each in ids], pa.int64()))
    if ids and max(ids) - min(ids) < 4 * len(ids):
        assert known == (len(set(ids)) == len(ids))
    assert not known or len(set(ids)) == len(ids)
