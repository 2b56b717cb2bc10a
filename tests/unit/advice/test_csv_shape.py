"""CSV that no source reads is refused with a command that mends it, and the command does."""

from __future__ import annotations

import re
import subprocess

import pytest

from tailrace.advice.table_sample import sample_of
from tailrace.ground.errors import Refused

GOOD = "time,city,value\n2024-03-14T10:00:00Z,Köln,1\n2024-03-14T10:00:01Z,Bonn,2\n"
DAMAGED = {
    "latin-1": (GOOD.encode("latin-1"), "no UTF-8"),
    "utf-16": (GOOD.encode("utf-16"), "UTF-16"),
    "no header": (GOOD.partition("\n")[2].encode(), "names no columns"),
}


@pytest.mark.needs("process")
@pytest.mark.parametrize("name", DAMAGED)
def test_the_command_of_a_refusal_mends_the_file(tmp_path, name):
    content, fault = DAMAGED[name]
    file = tmp_path / "it's mine.csv"
    file.write_bytes(content)
    with pytest.raises(Refused) as refused:
        sample_of(file)
    (problem,) = refused.value.problems
    assert fault in problem.fault
    before = {*tmp_path.iterdir()}
    command = problem.remedy.partition("as by: ")[2]
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    (mended,) = {*tmp_path.iterdir()} - before
    table = sample_of(mended).table
    assert table.num_rows == 2
    assert table.column(1).to_pylist() == ["Köln", "Bonn"]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.csv", b"", "it is empty"),
        ("a.csv", b"time,value\n", "a header and no record"),
        ("a.csv", b"\x1f\x8b\x08", "packed (gzip)"),
        ("a.xlsx", b"PK\x03\x04", "a spreadsheet"),
        ("a.json", b'[{"a": 1}]', "one JSON list"),
        ("a.json", b'{ \r\n  "a": 1\r\n}\r\n', "its objects stand over several lines"),
        ("a.bin", b"a\x00b", "no text"),
        ("a.json", b'{"a": \n', "no record"),
    ],
)
def test_what_no_source_reads_is_refused(tmp_path, name, content, fault):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Refused) as refused:
        sample_of(tmp_path / name)
    assert fault in refused.value.problems[0].fault


def test_a_mistaken_path_is_refused_with_the_near_one(tmp_path):
    (tmp_path / "orders.csv").write_text(GOOD)
    with pytest.raises(Refused) as refused:
        sample_of(tmp_path / "order.csv")
    assert "orders.csv" in refused.value.problems[0].remedy
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refused, match="no file below it"):
        sample_of(tmp_path / "empty")


def test_a_field_with_semicolons_is_no_separator(tmp_path):
    (tmp_path / "a.csv").write_text("time,tags\n2024-03-14T10:00:00Z,a;b;c\n2024-03-14T10:00:01Z,c;d;e\n")
    assert sample_of(tmp_path / "a.csv").table.column_names == ["time", "tags"]


def test_columns_without_a_name_or_with_one_twice_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("time,x,x,,y\n2024-03-14T10:00:00Z,1,2,3,4\n")
    sample = sample_of(tmp_path / "a.csv")
    assert sample.table.column_names == ["time", "y"]


@pytest.mark.parametrize(
    ("sign", "decimal", "number"),
    [(";", ",", "1,50"), (";", None, "1.50"), ("\t", ",", "1,50"), ("|", None, "1.50"), (",", None, "1.50")],
)
def test_what_separates_fields_and_decimals_is_found(tmp_path, sign, decimal, number):
    lines = [("time", "city", "value"), ("14.03.2024 10:00", "Köln", number), ("14.03.2024 10:01", "Bonn", "2")]
    (tmp_path / "a.csv").write_text("".join(f"{sign.join(line)}\n" for line in lines))
    sample = sample_of(tmp_path / "a.csv")
    assert (sample.source.get("delimiter"), sample.source.get("decimal")) == (None if sign == "," else sign, decimal)
    assert sample.table["value"].to_pylist() == ["1.50", "2"]
    assert sample.table["time"].to_pylist() == ["14.03.2024 10:00", "14.03.2024 10:01"]


@pytest.mark.parametrize(
    ("fields", "decimal"),
    [
        (["1.5;a,5", "2;1,5"], None),  # points in a column of numbers, commas in one of texts
        (["1,100;1", "2,101;2"], None),  # perhaps thousands
        (["1,100;1", "2,1;2"], ","),
        (["1,100,000;0,5", "2,101,000;0"], ","),
        (["1.10;0,5;1,5", "1.11;0,7;2"], ","),
        (['0,5;"a;b,c"', '1;"d;e"'], ","),
        ([*["5;1"] * 150, "0,5;2"], ","),
        (["-0,5 ;1", "1;2"], None),  # which no source reads as a number
    ],
)
def test_a_comma_is_a_decimal_sign_where_a_column_of_numbers_shows_it(tmp_path, fields, decimal):
    names = ";".join("abc"[: re.sub('"[^"]*"', "", fields[0]).count(";") + 1])
    (tmp_path / "a.csv").write_text("\n".join([names, *fields]) + "\n")
    source = sample_of(tmp_path / "a.csv").source
    assert (source["delimiter"], source.get("decimal")) == (";", decimal)
    assert list(source) == ["format", "path", "delimiter", *(["decimal"] if decimal else [])]
