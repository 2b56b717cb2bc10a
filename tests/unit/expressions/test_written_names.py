"""Names of columns in remedies can be pasted, and a name that lacks its backticks is found."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse
from tailrace.expressions.projection import Projection
from tailrace.expressions.text_comparisons import times_as_texts
from tailrace.expressions.written_names import name_with_blanks, written

NAMES = {"energy": "energy", "energy kWh": "`energy kWh`", "a`b": "`a``b`", "select": "`select`", "1st": "`1st`"}


@pytest.mark.parametrize(("name", "text"), [*NAMES.items(), ("größe", "größe"), ("a'b", "`a'b`"), ("", "``")])
def test_a_name_is_in_backticks_unless_it_is_a_plain_word(name, text):
    assert written(name) == text


@pytest.mark.parametrize("name", NAMES)
def test_a_written_name_is_a_column(name):
    assert [*parse(f"try_cast({written(name)} as double)").columns] == [name]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("energy kWh * 2", "`energy kWh`"),
        ("1 + cast(Charge Point No 2 as int)", "`Charge Point No 2`"),
        ("trip date", "`trip date`"),
        ("a + b", None),
        ("a and b or not c", None),
        ("upper (a) + b", None),
        ("cast(a as date)", None),
        ("'a b' 'c'", None),
        ("a\nb", None),
        ("`a b", None),
        ("", None),
    ],
)
def test_words_side_by_side_may_be_a_name_with_blanks(text, name):
    assert name_with_blanks(text) == name


@pytest.mark.parametrize("text", ["energy kWh", "energy kWh * 2", "cast(energy kWh as double)", "if(energy kWh, 1, 2)"])
def test_an_expression_that_fails_at_a_name_with_a_blank_says_backticks(text):
    with pytest.raises(ExpressionError) as error_info:
        parse(text)
    assert error_info.value.remedy.startswith("`energy kWh` in backticks, if a column has this name; or ")


def test_other_faults_keep_their_remedies():
    with pytest.raises(ExpressionError, match="no function summe") as error_info:
        parse("summe(a) + b")
    assert "backticks" not in error_info.value.remedy


def test_a_cast_that_is_advised_names_the_column_in_backticks():
    projection = Projection.parse({"n": "abs(`a b`)"}, None).over({"a b": pa.string()})
    with pytest.raises(ExpressionError) as error_info:
        projection.run(pa.table({"a b": ["1"]}))
    assert "cast(`a b` as double)" in error_info.value.remedy
    (found,) = times_as_texts("`a b` > '2024-03-30 19:00:00'", {"a b": pa.string()})
    assert "cast(`a b` as timestamp)" in found.words
