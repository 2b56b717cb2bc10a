"""Texts that are no UTF-8 are found in every type of text, and only there."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.sources.formats.utf_8 import not_utf_8, without

VIEWS = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def texts(values: list[bytes | None], kind: pa.DataType) -> pa.ChunkedArray:
    column = pa.array(values, pa.binary())
    if pa.types.is_dictionary(kind):
        distinct = pa.array([*dict.fromkeys(value for value in values if value is not None)], pa.binary())
        numbers = {value.as_py(): number for number, value in enumerate(distinct)}
        indices = pa.array([None if value is None else numbers[value] for value in values], pa.int32())
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, distinct.view(pa.string()), safe=False)])
    return pa.chunked_array([column.cast(VIEWS[kind]).view(kind)])


@pytest.mark.parametrize("kind", [*VIEWS, DICTIONARY], ids=str)
def test_each_text_that_is_no_utf_8_is_found_and_can_be_left_out(kind: pa.DataType) -> None:
    column = texts([b"a", None, b"caf\xe9", "café".encode(), b"\xed\xa0\x80", b"\xc3", b""], kind)
    mask = not_utf_8(column)
    assert mask is not None
    assert mask.tolist() == [False, False, True, False, True, True, False]
    assert without(column, mask).to_pylist() == ["a", None, None, "café", None, None, ""]


@pytest.mark.parametrize("kind", [*VIEWS, DICTIONARY], ids=str)
@pytest.mark.parametrize("values", [[b"a", None], ["é".encode(), b"a"], []], ids=["ascii", "others", "none"])
def test_columns_of_utf_8_alone_have_nothing_to_be_found(kind: pa.DataType, values: list[bytes | None]) -> None:
    assert not_utf_8(texts(values, kind)) is None


def test_a_text_cut_between_two_rows_is_found_though_the_bytes_are_utf_8_together() -> None:
    mask = not_utf_8(texts([b"caf\xc3", b"\xa9"], pa.string()))
    assert mask is not None
    assert mask.tolist() == [True, True]


def test_other_columns_have_no_texts() -> None:
    for column in ([b"\xff"], [1], [[b"\xff"]], [None]):
        assert not_utf_8(pa.chunked_array([column])) is None


def test_a_dictionary_may_hold_a_text_that_no_row_has() -> None:
    values = pa.array([b"a", b"\xe9"]).view(pa.string())
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), values, safe=False)
    assert not_utf_8(pa.chunked_array([column])) is None
