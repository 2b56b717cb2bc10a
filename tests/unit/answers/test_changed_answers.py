"""The count of changed answers against a loop over dicts."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.answers.changed_answers import count_changed
from tailrace.answers.identity import WINDOW

_INTEGERS = ("window_start", "window_end", "rank", "tuples")
CONTENT = pa.schema([("key", pa.string()), *((name, pa.int64()) for name in _INTEGERS), ("value", pa.float64())])
VERSION = pa.schema(
    [*CONTENT, ("as_of", pa.int64()), ("corrected", pa.bool_()), ("retracted", pa.bool_()), ("interval", pa.string())]
)
ANSWERS = st.dictionaries(  # by key and window, the values of each rank
    st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from([10, 20])),
    st.none() | st.lists(st.sampled_from([None, float("nan"), 1.0, 1e12]), min_size=1, max_size=3),
    max_size=6,
)


def rows_of(answers, as_of: int, shift: float = 0.0) -> pa.Table:
    """Return the rows of answers; None is a retracted one."""
    rows = [
        [key, end - 10, end, rank, 1, value if value is None else value * (1 + shift), as_of, as_of > 1, held is None]
        for (key, end), held in answers.items()
        for rank, value in enumerate([None] if held is None else held)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in VERSION.names[:-1]]
    columns.append([None if as_of == 1 else "all"] * len(rows))
    return pa.table([pa.array(each, field.type) for each, field in zip(columns, VERSION, strict=True)], VERSION)


@given(ANSWERS.map(lambda given: {name: held for name, held in given.items() if held}), ANSWERS, ANSWERS, st.booleans())
def test_an_answer_is_changed_if_it_is_new_or_differs_by_more_than_rounding(streamed, corrected, now, rounds):
    before = streamed | corrected
    texts = {name: None if held is None else list(map(str, held)) for name, held in before.items()}
    wanted = sum(held is not None and texts.get(name) != list(map(str, held)) for name, held in now.items())
    versions = pa.concat_tables([rows_of(streamed, 1), rows_of(corrected, 2)])
    found = count_changed(
        WINDOW, ("key", "window_end", "rank"), CONTENT, rows_of(now, 3, 1e-13 if rounds else 0.0), versions
    )
    assert found == wanted
