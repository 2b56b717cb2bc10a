"""The types of the columns of JSON lines: of carried ones by the values of some records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.expressions.projection import Projection
from tailrace.ground.errors import Refused
from tailrace.sources.formats import json_types
from tailrace.sources.formats.json_files import JsonFiles
from tailrace.sources.formats.json_types import shown_types, wrong_value

COLUMNS = source_mapping("t", None, "id", None, {"x": "lon"}, carried={"left_more": "more", "left_lon": "lon"})
FIXED = {"t": 1, "id": "a", "lon": 1}
TYPES = {"t": "int64", "id": "string", "lon": "double"}
OWN = TYPES | {"lon": "int64"}


def shown(*values: Any, **fixed: Any) -> str | None:
    """The type of a carried column with these values, one a record."""
    types = shown_types([FIXED | fixed | {"more": value} for value in values], COLUMNS).types
    return None if types is None else types["more"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a"], "string"),
        ([1, 2], "int64"),
        ([1.5], "double"),
        ([1, 2.0], "double"),
        ([2.5, 1], "double"),
        ([True], "bool"),
        ([None, None, "a"], "string"),
        (["a", 1], "string"),
        ([1, "a", True], "int64"),
        ([{"x": 1}, [2], "a"], "string"),
        ([None], None),
        ([[1]], None),
    ],
)
def test_the_type_is_that_of_the_first_value_and_double_for_a_fraction(values, kind):
    assert shown(*values) == kind


@pytest.mark.parametrize(
    ("values", "kind"), [([1], "int64"), (["x", True, None, 2, 3], "int64"), ([1, 2.5], "double"), (["x", {}], None)]
)
def test_a_number_of_the_kind_that_is_carried_too_has_its_own_type_by_its_numbers(values: list[Any], kind: str | None):
    columns = with_uses(COLUMNS, carried={"left_lon": "lon"})
    types = shown_types([FIXED | {"lon": value} for value in values], columns).types
    assert (types or {}).get("lon") == kind
    read = with_uses(COLUMNS, carried={}, projection=Projection.parse({}, "lon > 0"))
    assert (shown_types([FIXED | {"lon": value} for value in values], read).types or {}).get("lon") == kind


def test_a_column_that_some_records_leave_out_is_found_in_others():
    assert shown_types([FIXED, FIXED | {"more": 1}], COLUMNS).types == OWN | {"more": "int64"}


def test_the_record_of_the_other_types_need_not_have_it():
    records = [{"more": 1}, FIXED | {"t": None, "more": 2}, FIXED]
    assert shown_types(records, COLUMNS).types == OWN | {"more": "int64"}


def test_some_records_are_looked_at_and_no_more(monkeypatch):
    monkeypatch.setattr(json_types, "SAMPLE", 3)
    monkeypatch.setattr(json_types, "MOST_RECORDS", 5)
    assert shown(1, 1, 1, 1.5) == "int64"
    assert shown(1, 1, 1.5, 1) == "double"
    assert shown(None, None, None, None, "a") == "string"
    assert shown(*[None] * 5, "a") is None
    assert shown(1, 1, 1, 1, t=None) is None


def test_without_carried_columns_the_first_record_tells():
    columns = source_mapping("t", None, "id", None, {"x": "lon"})
    records = iter([FIXED, None])
    assert shown_types(records, columns).types == TYPES
    assert next(records) is None


def write(path: Path, *records: dict) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_objects_and_lists_are_refused(tmp_path):
    for value in ({"a": 1}, [1], []):
        with pytest.raises(Refused, match="column more: its values are objects or lists") as caught:
            JsonFiles().types(write(tmp_path / "a.json", FIXED | {"more": value}), COLUMNS)
        assert "a.json" in caught.value.problems[0].where


def test_a_file_without_a_value_shows_no_types(tmp_path):
    assert JsonFiles().types(write(tmp_path / "a.json", FIXED, FIXED | {"more": None}), COLUMNS) is None
    assert JsonFiles().types(write(tmp_path / "a.json", FIXED), COLUMNS) is None, "null may be left out"
    records = FIXED | {"more": {"x": 1}, "id": None}, FIXED | {"more": 1, "id": None}
    assert JsonFiles().types(write(tmp_path / "a.json", *records), COLUMNS) is None, "not for the column's sake"
    with pytest.raises(Refused, match="no column 'lon', which the query names as x"):
        JsonFiles().types(write(tmp_path / "b.json", {"t": 1, "id": "a", "more": 1}), COLUMNS)


def test_a_value_of_another_type_quarantines_its_record_and_null_none(tmp_path):
    path = write(tmp_path / "a.json", *(FIXED | {"more": value} for value in (True, 1, None, "x")), FIXED)
    types = JsonFiles().types(path, COLUMNS)
    (segment,) = JsonFiles().split(path)
    raw = JsonFiles().read(segment, types)
    assert raw.table.schema.field("more").type == pa.bool_()
    assert raw.table["more"].to_pylist() == [True, None, None]
    assert [(each.row, each.reason) for each in raw.malformed] == [
        (1, "more is of the wrong type: int, not bool"),
        (3, "more is of the wrong type: str, not bool"),
    ]


def test_the_reason_names_the_value_that_is_wrong():
    types = TYPES | {"more": "bool"}
    assert wrong_value(FIXED | {"more": None}, types) is None
    assert wrong_value(FIXED | {"more": False}, types) is None
    assert wrong_value(FIXED | {"lon": True}, types) == "lon is of the wrong type: bool, not double"


KEYED = with_uses(COLUMNS, key=("k", "l"), carried={})


def keys_shown(*records: dict[str, Any], before: dict[str, str] | None = None) -> list[str] | None:
    types = shown_types([FIXED | record for record in records], KEYED, before).types
    return None if types is None else [types["k"], types["l"]]


def test_the_first_value_of_each_key_shows_its_type_and_a_null_is_none() -> None:
    assert keys_shown({"k": None, "l": "a"}, {"k": 1, "l": None}, {"k": "x", "l": 2}) == ["int64", "string"]
    assert keys_shown({"k": True, "l": None}) == ["bool", "null"]
    assert keys_shown({"k": [], "l": 1}) is None, "other values are no nulls"
    assert shown_types([FIXED | {"k": None, "l": 1}], replace(KEYED, groups_nulls=False)).types is None


def test_a_key_that_no_record_has_shows_no_type() -> None:
    assert keys_shown({"k": "a"}) is None, "its name may be wrong"
    assert keys_shown({"k": "a"}, before={"l": "int64"}) == ["string", "null"], "its file has nulls alone"
