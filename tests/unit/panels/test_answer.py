"""The panel of one answer: why it is as it is, against the source's tuples and the tables' rows."""

from __future__ import annotations

import json

import pytest

from answer_samples import MAKERS, SETTINGS
from local_driver import Driver, no_spark
from query_views import Row, all_versions, horizon_of, identity_of, view_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.panels import answer as module
from tailrace.panels.answer import OneAnswer
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.query_view import QueryView


@pytest.fixture(scope="module", params=MAKERS)
def view(request, tmp_path_factory) -> QueryView:
    """A query after the correction of half of the late tuples."""
    home = tmp_path_factory.mktemp("answer")
    query = MAKERS[request.param](home)
    driver = Driver(query, home / "wh")
    driver.run(60, flush=True)
    if query.table is None:
        arrived = sorted(row["arrived"] for row in driver.tables.read("late").to_pylist())
        correct(query, home / "wh", CorrectionRange(arrived[0] - 100, arrived[len(arrived) // 2], True), no_spark)
    return view_of(query, home / "wh")


def ask(view: QueryView, row: Row) -> OneAnswer:
    id_ = AnswerId.of({name: row[name] for name in view.kind.answers.identity.columns})
    shown = module.read(view, module.AnswerRequest(id=str(id_)))
    return OneAnswer.model_validate_json(shown.model_dump_json())


def some(view: QueryView) -> list[tuple[tuple, list]]:
    """Some answers with corrections, and some without."""
    every = all_versions(view.tables)
    by_number = sorted(every.items(), key=lambda item: (-len(item[1]), item[1][0][1], str(item[0])))
    return [*by_number[:6], *by_number[len(by_number) // 2 :][:3], *by_number[-3:]]


def test_an_answer_has_its_versions_in_order(view):
    for answer, versions in some(view):
        shown = ask(view, next(row for _, _, rows in versions for row in rows))
        assert {part.name for part in shown.identity} == {*view.kind.answers.identity.columns}
        assert str(answer[0]) in {part.value for part in shown.identity}
        found = [(each.as_of, each.source == "correction", each.is_retracted) for each in shown.versions]
        assert found == [(as_of, is_one, not rows) for as_of, is_one, rows in versions for _ in rows or [None]]
        rows = [row for _, _, rows in versions for row in rows]
        names = [column.name for column in shown.columns]
        given = [each for each in shown.versions if not each.is_retracted]
        for name in ("sum", "score", "emd", "rank", "left_time"):
            if name in names:
                assert [each.values[names.index(name)] for each in given] == [row[name] for row in rows]
        assert [each.tuples for each in given] == [row["tuples"] for row in rows]
        assert shown.summary.startswith("The stream")
