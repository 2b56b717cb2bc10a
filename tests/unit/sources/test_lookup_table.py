"""Tables of lookups: what is refused of a version, and the texts and types of those that follow."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tailrace.engine.lookup_types import named_types, table_types
from tailrace.ground.errors import Refused
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.sources.formats.csv_dialect import named
from tailrace.sources.lookup import lookup_table
from tailrace.sources.lookup.lookup_table import LookupTable, column_type, key_type, stored_version
from tailrace.sources.lookup.table_content import csv_texts
from tailrace.stream.table_versions import TableVersions

PLACE = "streams.orders.lookup.products"


def declaration_of(path: Path, **more: object) -> dict[str, object]:
    lookup = {"path": str(path), "key": {"sku": "id"}, "columns": {"name": "name", "cost": "price"}} | more
    stream = {"event_time": "at", "id": "order", "lookup": {"products": lookup}}
    stream |= {"source": {"format": "parquet", "path": str(path.parent / "in")}}
    sections = {"window": {"size": "1 s"}, "aggregate": {"n": {"function": "count"}}}
    return {"name": "n", "kind": "aggregate", "streams": {"orders": stream}} | sections


def table_of(path: Path, **more: object) -> LookupTable:
    ((lookup,),) = declared_query(declaration_of(path, **more)).lookups.values()
    return lookup.table


def parquet(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("columns", "more", "where", "fault"),
    [
        ({"id": [1, 2], "name": ["a", "b"]}, {}, f"{PLACE}.columns.cost", "it has no column price"),
        ({"sku": [1], "name": ["a"], "price": [1]}, {}, f"{PLACE}.key", "it has no column id"),
        ({"id": [1, 2, 1], "name": [*"abc"], "price": [1, 2, 3]}, {}, "", "rows 1 and 3 have one key"),
        ({"id": [1.0], "name": ["a"], "price": [1]}, {}, "", "a key of the type double"),
        ({"id": [1], "name": [["a"]], "price": [1]}, {}, "", "which no stream has"),
        (
            {"id": [1, 1], "name": [*"ab"], "price": [1, 2], "a": [date(2024, 1, 1)] * 2, "z": [None, None]},
            {"valid_from": "a", "valid_to": "z"},
            "",
            "rows 1 and 2 have one key, 1, and are valid at the same time",
        ),
        (
            {"id": [1], "name": ["a"], "price": [1], "a": [date(2024, 1, 2)], "z": [date(2024, 1, 1)]},
            {"valid_from": "a", "valid_to": "z"},
            "",
            "row 1 is valid to a time before",
        ),
    ],
)
def test_a_version_that_is_not_fit_is_refused_by_its_field_or_rows(tmp_path, columns, more, where, fault):
    file = parquet(tmp_path / "products.parquet", **columns)
    table = table_of(file, **more)
    with pytest.raises(Refused, match=fault) as refused:
        table.check(file.read_bytes())
    (problem,) = refused.value.problems
    assert problem.where.startswith(where)
    assert str(file) in problem.where
    assert problem.remedy


def test_no_table_is_refused_by_its_suffix_or_content(tmp_path):
    for name, content in (("a.xlsx", b"x"), ("a.parquet", b"x"), ("a.csv", b"id,name,price\n1,a\n")):
        with pytest.raises(Refused):
            table_of(tmp_path / name).check(content)


def test_a_version_that_takes_too_much_memory_is_refused_with_its_size(tmp_path, monkeypatch):
    columns = {"id": np.arange(1 << 18), "name": ["x" * 8] * (1 << 18), "price": [0.5] * (1 << 18)}
    file = parquet(tmp_path / "products.parquet", **columns)
    monkeypatch.setattr(lookup_table, "MOST_BYTES", 4 << 20)
    with pytest.raises(Refused, match="its 262,144 rows take 17 MiB, more than 4 MiB") as refused:
        table_of(file).check(file.read_bytes())
    (problem,) = refused.value.problems
    assert problem.where == f"streams.orders.lookup.products.columns: {file}"
    assert "fewer columns here; or fewer rows" in problem.remedy


def test_a_column_may_be_named_as_the_id_and_bounds_of_csv_be_epoch_milliseconds(tmp_path):
    file = tmp_path / "products.csv"
    file.write_text("id,name,since\n1,a,1714561200000\n")
    table = table_of(file, columns={"id": "id", "key id": "name"}, valid_from="since")
    types = table_types(named_types(table.check(file.read_bytes()).types))
    assert (column_type(types, "id"), column_type(types, "key id"), key_type(types, "id")) == (pa.string(),) * 3
    times_us = np.array([1714561199_999_999, 1714561200_000_000])
    found = table.read(file, file.read_bytes()).index.find([pa.array([1, 1])], times_us)
    assert found.tolist() == [-1, 0]


def test_rows_with_a_null_in_the_key_may_repeat(tmp_path):
    file = parquet(tmp_path / "products.parquet", id=[None, 1, None], name=[*"abc"], price=[1, 2, 3])
    assert table_of(file).check(file.read_bytes()).rows == "3 rows"


def test_csv_gives_keys_as_texts_and_columns_in_their_narrowest_type(tmp_path):
    file = tmp_path / "products.csv"
    file.write_text("id,name,price\n007,7,1.5\n7,8,\n")
    version = table_of(file).read(file, file.read_bytes())
    assert version.index.find([pa.array([7, 8])], None).tolist() == [1, -1]
    assert version.index.find([pa.array(["007", "7"])], None).tolist() == [0, 1]
    assert version.columns["name"].to_pylist() == [7, 8]
    assert version.columns["cost"].to_pylist() == [1.5, None]


def test_a_later_csv_keeps_the_texts_of_a_column_that_was_text_first(tmp_path):
    file = tmp_path / "products.csv"
    file.write_text("id,name,price\n1,a,1.5\n")
    table, directory = table_of(file), tmp_path / "versions"
    versions = TableVersions(table, directory, about="lookup orders.products")
    first = versions.take(None)
    facts = versions.stamped((), 0, 0)
    file.write_text("id,name,price\n1,1e5,2\n")
    facts = versions.stamped(facts, 1, 1)
    assert [fact.version for fact in facts] == [1, 2]
    stored = stored_version(table, directory / facts[-1].value["file"], ("name",))
    assert stored.take("name", np.array([0, -1]), pa.string()).to_pylist() == ["1e5", None]
    assert stored.take("cost", np.array([0, -1]), pa.float64()).to_pylist() == [2.0, None]
    assert first is not None


def test_a_later_version_of_another_type_is_refused(tmp_path):
    file = parquet(tmp_path / "products.parquet", id=[1], name=["a"], price=[1])
    versions = TableVersions(table_of(file), tmp_path / "versions", about="lookup orders.products")
    facts = versions.stamped((), 0, 0)
    parquet(file, id=[1], name=["a"], price=[Decimal("1.5")])
    assert versions.stamped(facts, 1, 1) == facts
    assert "its type is decimal128(2, 1), in versions before int64" in (versions.problem or "")


def test_a_later_integer_that_a_double_has_not_is_refused_before_it_is_a_version(tmp_path):
    file = parquet(tmp_path / "products.parquet", id=[1], name=["a"], price=[1.5])
    versions = TableVersions(table_of(file), tmp_path / "versions", about="lookup orders.products")
    facts = versions.stamped((), 0, 0)
    parquet(file, id=[1], name=["a"], price=[2**53 + 1])
    assert versions.stamped(facts, 1, 1) == facts
    assert "which has not all values" in (versions.problem or "")
    parquet(file, id=["1"], name=["a"], price=[2])
    assert len(versions.stamped(facts, 1, 1)) == 2, "a key may be an integer or a text"


def test_a_table_that_was_away_is_no_problem_once_it_is_back_as_it_was(tmp_path):
    file = parquet(tmp_path / "products.parquet", id=[1], name=["a"], price=[1])
    versions = TableVersions(table_of(file), tmp_path / "versions", about="lookup orders.products")
    facts = versions.stamped((), 0, 0)
    file.rename(tmp_path / "away")
    assert versions.stamped(facts, 1, 1) == facts
    assert versions.problem is not None
    (tmp_path / "away").rename(file)
    assert versions.stamped(facts, 1, 1) == facts
    assert versions.problem is None


def test_a_table_that_answers_slowly_that_it_is_away_is_looked_at_seldom(tmp_path, monkeypatch):
    file = parquet(tmp_path / "products.parquet", id=[1], name=["a"], price=[1])
    versions, clock = TableVersions(table_of(file), tmp_path / "versions", about="lookup orders.products"), [0.0]
    facts = versions.stamped((), 0, 0)
    monkeypatch.setattr("tailrace.stream.table_versions.time", SimpleNamespace(monotonic=lambda: clock[0]))

    def times_out():
        clock[0] += 10.0
        raise TimeoutError("timed out")

    monkeypatch.setattr(versions._source, "token", times_out)
    for _ in range(20):
        clock[0] += 1.0
        assert versions.stamped(facts, 1, 1) == facts
    assert clock[0] == 30.0, "one look of ten seconds, and twenty batches"
    assert "timed out" in (versions.problem or "")
    clock[0] = 101.0
    monkeypatch.undo()
    monkeypatch.setattr("tailrace.stream.table_versions.time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert versions.stamped(facts, 1, 1) == facts
    assert versions.problem is None


def test_a_version_that_could_not_be_stored_is_stored_by_the_next_look(tmp_path, monkeypatch):
    file = parquet(tmp_path / "products.parquet", id=[1], name=["a"], price=[1])
    versions = TableVersions(table_of(file), tmp_path / "versions", about="lookup orders.products")
    facts = versions.stamped((), 0, 0)
    parquet(file, id=[1], name=["b"], price=[1])
    with monkeypatch.context() as patch:
        patch.setattr("tailrace.stream.table_versions.write_atomically", lambda *_: (_ for _ in ()).throw(OSError(28)))
        with pytest.raises(OSError, match="28"):
            versions.stamped(facts, 1, 1)
    assert len(versions.stamped(facts, 1, 1)) == 2
    assert len(versions.stamped(facts, 1, 1)) == 2, "a fact that another table's fault has lost is stamped again"


@pytest.mark.parametrize(
    ("more", "field", "fault"),
    [
        ({"columns": ["at"]}, "lookup.products.columns", "at is the event time"),
        ({"valid_from": "id"}, "lookup.products.valid_from", "id has another part in the table"),
        ({"key": {}}, "lookup.products.key", "does not fit"),
        ({"on_no_match": "skip"}, "lookup.products.on_no_match", "one of null, drop, quarantine"),
    ],
)
def test_a_declaration_that_can_not_be_is_refused_by_its_field(tmp_path, more, field, fault):
    file = tmp_path / "n.yaml"
    file.write_text(yaml.safe_dump(declaration_of(tmp_path / "products.csv", **more)))
    with pytest.raises(Refused) as refused:
        load(file)
    (problem,) = refused.value.problems
    assert field in problem.where
    assert fault in f"{problem.fault} {problem.remedy}"


@pytest.mark.parametrize("text", ["a", "POINT(0 0),(1 1)"])
@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_a_table_with_another_delimiter_is_one_fault(sign, text):
    """Also where commas in its texts make more fields than the header has."""
    content = f"id{sign}name\n1{sign}{text}\n".encode()
    with pytest.raises(Refused) as refused:
        csv_texts("t.csv", content, ("id", "name"))
    (problem,) = refused.value.problems
    assert "its fields are separated by" in problem.fault
    assert named(sign) in problem.fault
    assert csv_texts("t.csv", b"id,a;b\n1,x\n", ("id", "a;b"))["a;b"].to_pylist() == ["x"]


def test_a_table_has_any_line_ends_and_any_number_of_columns():
    assert csv_texts("t.csv", b"id,name\r1,a\r", ("id", "name")).to_pylist() == [{"id": "1", "name": "a"}]
    header = ",".join(["id", *(f"column_{number:06}" for number in range(12_000))])
    content = f"{header}\n{'1,' * 12_000}1\n".encode()
    assert csv_texts("t.csv", content, ("id",))["id"].to_pylist() == ["1"]


def test_columns_with_times_finer_than_microseconds_are_told(tmp_path):
    whole, finer = (pa.array([nanoseconds], pa.timestamp("ns")) for nanoseconds in (1_000, 1_001))
    path = parquet(tmp_path / "t.parquet", id=finer, name=["a"], price=finer, other=finer)
    table = table_of(path, valid_from="other")
    told = "1 row; id and price of the table have times finer than microseconds, which were floored to these"
    assert table.check(path.read_bytes()).rows == told
    path = parquet(tmp_path / "t.parquet", id=whole, name=["a"], price=whole, other=finer)
    assert table.check(path.read_bytes()).rows == "1 row"
