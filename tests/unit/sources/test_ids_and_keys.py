"""Keys of records, by one column and by a list of columns, coded and plain."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kit.parts.source_mappings import source_mapping
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.ids_and_keys import key_type, read_keys
from tailrace.sources.verdict import RecordVerdict

COUNTRY = pa.chunked_array([pa.array(["DE", "FR"]), pa.array(["DE", None, 'x"y'])])
CODE = pa.chunked_array([pa.array([1, 2**53 + 1, 1, 4, None], pa.int64())])
TYPES = ColumnTypes(keys={"code": pa.int64()})
DAY, TIME = date(2026, 3, 1), datetime(2026, 3, 1, 12, 0, 0, 1, UTC)


def keys_of(raw: pa.Table, key: Any, types: ColumnTypes, verdict: RecordVerdict | None = None, **options: Any) -> Any:
    columns = source_mapping("t", "t", "id", key, groups_nulls=options.get("groups_nulls", True))
    return read_keys(verdict or RecordVerdict(raw.num_rows), raw, columns, types, options.get("coded", False))


@pytest.mark.parametrize("country", [COUNTRY, COUNTRY.dictionary_encode()], ids=["plain", "coded"])
def test_the_key_of_a_list_is_the_text_of_its_values(country: pa.ChunkedArray) -> None:
    raw, verdict = pa.table({"country": country, "code": CODE}), RecordVerdict(5)
    keys = keys_of(raw, ("country", "code"), TYPES, verdict, coded=True)
    assert pa.types.is_dictionary(keys.type)
    texts = keys.dictionary_decode().to_pylist()
    assert texts == ['["DE",1]', '["FR",9007199254740993]', '["DE",1]', "[null,4]", '["x\\"y",null]']
    assert len(keys.dictionary.unique()) == len(keys.dictionary)
    assert not verdict.reasons
    assert keys_of(raw, ("country", "code"), TYPES) == keys.dictionary_decode()


@pytest.mark.parametrize("coded", [True, False])
def test_where_nulls_are_no_group_their_records_are_rejected(coded: bool) -> None:
    raw, verdict = pa.table({"country": COUNTRY, "code": CODE}), RecordVerdict(5)
    keys_of(raw, ("country", "code"), TYPES, verdict, coded=coded, groups_nulls=False)
    assert np.flatnonzero(verdict.code).tolist() == [3, 4]
    assert sorted(verdict.reasons) == ["code is null", "country is null"]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pa.array([True, None, False]), pa.bool_()),
        (pa.array([DAY, None, DAY], pa.date32()), pa.date32()),
        (pa.array([DAY, None, DAY], pa.date64()), pa.date32()),
        (pa.array([TIME, None, TIME], pa.timestamp("us", "Europe/Berlin")), pa.timestamp("us", "UTC")),
        (pa.array([TIME, None, TIME], pa.timestamp("us")), pa.timestamp("us", "UTC")),
        (pa.array(["a", None, ""]), pa.string()),
        (pa.array([0, None, 1], pa.int8()), pa.int64()),
    ],
    ids=lambda each: str(each.type) if isinstance(each, pa.Array) else "as",
)
def test_a_null_is_a_value_beside_those_of_each_type(column: pa.Array, dtype: pa.DataType) -> None:
    assert key_type(str(column.type)) == dtype
    raw, types = pa.table({"k": column}), ColumnTypes(dtype)
    (keys, of_nulls) = (keys_of(each, "k", types) for each in (raw, pa.table({"k": pa.nulls(3)})))
    assert keys.type == of_nulls.type == dtype
    assert keys.to_pylist() == column.cast(dtype).to_pylist()
    assert of_nulls.null_count == 3


def test_a_date_out_of_bounds_is_no_key() -> None:
    verdict = RecordVerdict(1)
    keys_of(pa.table({"k": pa.array([-800_000], pa.int32()).cast(pa.date32())}), "k", ColumnTypes(pa.date32()), verdict)
    assert verdict.reasons == ["k out of bounds: a date or a timestamp lies in the years 1 to 9999"]


def test_integers_of_any_width_are_numbers_and_other_values_texts() -> None:
    raw = pa.table({"code": pa.array([7, 8], pa.int16()), "area": pa.array([1.5, 2.0])})
    keys = keys_of(raw, ("code", "area"), TYPES)
    assert keys.to_pylist() == ['[7,"1.5"]', '[8,"2"]']


def test_without_a_key_there_is_one_group() -> None:
    assert keys_of(pa.table({"a": [1, 2]}), None, ColumnTypes(), coded=True).null_count == 2
