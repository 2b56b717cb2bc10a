"""Times as texts: held to pandas, over drawn texts of all forms of ISO 8601 and near them."""

from __future__ import annotations

import re

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailrace.sources.iso_times import INSTANT, instants


def expected(text: str | None) -> pd.Timestamp | None:
    """The instant in pandas, floored to microseconds; pandas reads `now` as well."""
    if text is None or not text.lstrip()[:1].isdigit():
        return None
    time = pd.to_datetime(pd.Series([text.lstrip()]), format="ISO8601", utc=True, errors="coerce")[0]
    return None if time is pd.NaT else time.floor("us").to_pydatetime()


def digits(most: int) -> st.SearchStrategy[str]:
    return st.integers(0, most).map(lambda number: f"{number:02}") | st.integers(0, most).map(str)


def joined(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


_YEARS = st.sampled_from(["2024", "2023", "2000", "1900", "1969", "1677", "1678", "2261", "2262", "0001", "9999", "24"])
_SEPARATORS = st.sampled_from(["-", "-", "", "/", ".", " ", "\\"])
_DATES = _SEPARATORS.flatmap(lambda sep: joined(_YEARS, sep, digits(13), sep, digits(32)))
_DATES |= (
    joined(_YEARS, st.sampled_from(["", "-"]), digits(13)) | _YEARS | joined(_YEARS, "-", digits(13), "/", digits(31))
)
_COLONS = st.sampled_from([":", ":", ""])
_FRACTIONS = st.just("") | st.text("0129", max_size=12).map(".{}".format)
_TIMES = _COLONS.flatmap(lambda colon: joined(digits(25), colon, digits(61), colon, digits(61), _FRACTIONS))
_TIMES |= joined(digits(25), _COLONS, digits(61)) | digits(25) | joined(digits(24), ":", digits(9), digits(9))
_OFFSETS = st.sampled_from(["", "", "Z", "z", " Z", "Z ", " ", "UTC"])
_OFFSETS |= joined(st.sampled_from(["+", "-", " +", "−"]), digits(25), st.just("") | joined(_COLONS, digits(61)))
_TEXTS = _DATES | joined(_DATES, st.sampled_from(["T", " ", "t", "", "  "]), _TIMES, _OFFSETS)
_TEXTS |= joined(st.sampled_from([" ", "  ", "\t"]), _TEXTS)
_TEXTS |= (
    st.none() | st.text("0123456789-:T.Z+ ", max_size=25) | st.sampled_from(["now", "", "x", "2024-W18-3", "٢٠٢٤"])
)


@example(["2024-05-01T12:00:00.123456789Z", "1969-12-31T23:59:59.9999999Z"])
@example(["2024-02-29T12:00:00+05:30", "2023-02-29T12:00:00+05:30"])
@example(["1677-09-21T00:12:43.145225Z", "2262-04-11T23:47:16.854775Z", "2262-04-11T23:47:16.854776Z"])
@given(st.lists(_TEXTS, max_size=6))
def test_texts_are_read_as_pandas_reads_them(texts):
    read = instants(pa.array(texts, pa.string())).times
    assert read.type == INSTANT
    assert read.to_pylist() == [expected(text) for text in texts]


def finer(text: str | None) -> bool:
    """Whether pandas reads the text, within the bounds of `instants`, and it has more than zeros after microseconds."""
    if expected(text) is None:
        return False
    return any(int(more) for more in re.findall(r"\.\d{6}(\d+)", text or ""))


@example(["x.1234567", "2024-05-01T12:00:00.1234560Z", "2024-05-01T12:00:00,5Z"])
@example(["2024-05-01T12:00:00.1234567Z", "x"])
@given(st.lists(_TEXTS, max_size=6))
def test_a_text_was_floored_if_it_is_a_time_with_more_than_microseconds(texts):
    assert instants(pa.array(texts, pa.string())).are_floored == any(map(finer, texts))


@pytest.mark.parametrize("ending", ["", "Z", "+02:00", ".5Z"])
def test_a_text_is_read_alike_alone_and_beside_one_that_is_no_time(ending):
    text = f"2024-05-01T12:00:00{ending}"
    alone = instants(pa.array([text, None])).times
    assert instants(pa.array([text, "x"])).times == alone
    assert alone[0].as_py() == expected(text)


def test_blanks_before_a_time_are_no_fault():
    texts = [" 2024-05-01T00:00:01Z", "\t2024-05-01T00:00:01Z", "2024-05-01T00:00:01Z"]
    assert len(set(instants(pa.array(texts)).times.to_pylist())) == 1
    assert None not in instants(pa.array(texts)).times.to_pylist()
