"""Keys of records, by one column and by a list of columns, coded and plain."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.ids_and_keys import read_keys
from tailrace.sources.verdict import RecordVerdict

COUNTRY = pa.chunked_array([pa.array(["DE", "FR"]), pa.array(["DE", None, 'x"y'])])
CODE = pa.chunked_array([pa.array([1, 2**53 + 1, 1, 4, None], pa.int64())])
TYPES = ColumnTypes(keys={"code": pa.int64()})


@pytest.mark.parametrize("country", [COUNTRY, COUNTRY.dictionary_encode()], ids=["plain", "coded"])
def test_the_key_of_a_list_is_the_text_of_its_values(country: pa.ChunkedArray) -> None:
    raw, verdict = pa.table({"country": country, "code": CODE}), RecordVerdict(5)
    keys = read_keys(verdict, raw, ("country", "code"), TYPES, coded=True)
    assert pa.types.is_dictionary(keys.type)
    assert keys.dictionary_decode().to_pylist()[:3] == ['["DE",1]', '["FR",9007199254740993]', '["DE",1]']
    assert len(keys.dictionary.unique()) == len(keys.dictionary)
    assert np.flatnonzero(verdict.code).tolist() == [3, 4]
    assert sorted(verdict.reasons) == ["code is null", "country is null"]
    assert read_keys(RecordVerdict(5), raw, ("country", "code"), TYPES, coded=False) == keys.dictionary_decode()


def test_integers_of_any_width_are_numbers_and_other_values_texts() -> None:
    raw = pa.table({"code": pa.array([7, 8], pa.int16()), "area": pa.array([1.5, 2.0])})
    keys = read_keys(RecordVerdict(2), raw, ("code", "area"), TYPES, coded=False)
    assert keys.to_pylist() == ['[7,"1.5"]', '[8,"2"]']


def test_without_a_key_there_is_one_group() -> None:
    assert read_keys(RecordVerdict(2), pa.table({"a": [1, 2]}), None, ColumnTypes(), coded=True).null_count == 2
