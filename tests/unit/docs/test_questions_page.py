"""The page of questions: each stands there as SQL text and as sections that mean the same, and has DuckDB's answer."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
import yaml

from kit.draws import question_orders
from kit.suite.doc_pages import ROOT
from tailrace.api.declaration import load

PAGE = (ROOT / "docs" / "questions.md").read_text()
RIGHT = (ROOT / "tests" / "data" / "questions.sql").read_text()
BEGIN = re.search(r"```yaml\n(streams:.*?)```", PAGE, re.DOTALL)[1]
_QUESTION = re.compile(
    r"^### (\d+)\. (.*?)\n\n```sql\n(.*?)```\n(?:\n[^`\n]*`([^`\n]*)`[^`\n]*\n)?\n```yaml\n(.*?)```\n",
    re.MULTILINE | re.DOTALL,
)


class Question(NamedTuple):
    number: str
    title: str
    sql: str
    beside: str
    sections: str


QUESTIONS = [Question(*found) for found in _QUESTION.findall(PAGE)]
STATEMENTS = dict(re.findall(r"^-- (\d+)\. .*?\n-- DuckDB\n(.*?)\n;$", RIGHT, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("orders")
    question_orders.write(question_orders.orders(), folder / "orders.csv")
    return folder


def files(question: Question, folder: Path) -> tuple[Path, Path]:
    """The query as sections, and as SQL text with what the page says beside it."""
    begin, beside = yaml.safe_load(BEGIN), yaml.safe_load(question.beside) or {}
    found = []
    for form, fields in (
        ("sections", {"kind": "aggregate"} | yaml.safe_load(question.sections)),
        ("sql", beside | {"sql": question.sql}),
    ):
        stream = begin["streams"]["orders"] | fields.pop("streams", {"orders": {}})["orders"]
        file = folder / f"{form}{question.number}.yaml"
        whole = begin | fields | {"name": f"q{question.number}", "streams": {"orders": stream}}
        file.write_text(yaml.safe_dump(whole, sort_keys=False))
        found.append(file)
    return found[0], found[1]


def test_there_are_forty_questions_with_a_statement_each():
    assert [question.number for question in QUESTIONS] == [str(number) for number in range(1, len(QUESTIONS) + 1)]
    assert list(STATEMENTS) == [question.number for question in QUESTIONS]
    assert len(QUESTIONS) >= 40
    assert PAGE.count("```sql") == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.number)
def test_a_question_is_answered(folder, tmp_path, question):
    sections, sql = map(load, files(question, folder))
    assert sections.declared == sql.declared
    run = sections.run(tmp_path, engine="local")
    run.correct(engine="local")
    with duckdb.connect() as connection:
        connection.register("orders", question_orders.table(question_orders.orders()))
        right = connection.execute(STATEMENTS[question.number])
        names = ["window_start", *(column[0] for column in right.description[1:])]
        expected = sorted(map(plainly, right.fetchall()), key=repr)
    answers = run.results().dicts()
    found = sorted((plainly(row[name] for name in names) for row in answers), key=repr)
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert row == tuple(map(nearly, other))


def plainly(values: Any) -> tuple[Any, ...]:
    return tuple(
        value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value
        for value in values
    )


def nearly(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
