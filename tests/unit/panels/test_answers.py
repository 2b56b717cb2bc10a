"""The panel of answers, of every kind, against the tables' rows in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pydantic import ValidationError

from kit.draws.answer_samples import MAKERS, SETTINGS
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, no_spark
from kit.runs.query_views import Row, all_versions, horizon_of, lacks, view_of
from kit.runs.warehouse import EPOCH
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Damaged, Refused
from tailrace.panels import answer as one_answer
from tailrace.panels import answer_chart, newest_answers
from tailrace.panels import answers as module
from tailrace.panels.answers import AnswerRow, AnswersRequest, AnswersShown, read
from tailrace.panels.query_view import QueryView
from tailrace.panels.thinning import extremes
from tailrace.query.declared import declared_query

HIDDEN = ("tuples", "k_ms", "as_of", "emitted_at", "facts_version", "interval", "retracted")


@pytest.fixture(scope="module", params=MAKERS)
def view(request, tmp_path_factory) -> QueryView:
    """A query after two corrections, by which not all late tuples are corrected."""
    home = tmp_path_factory.mktemp("answers")
    query = MAKERS[request.param](home)
    driver = Driver(query, home / "wh")
    driver.run(60, flush=True)
    if query.table is None:
        arrived = sorted(row["arrived"] for row in driver.tables.read("late").to_pylist())
        cuts = [arrived[0] - 100, arrived[len(arrived) // 3], arrived[2 * len(arrived) // 3]]
        for interval in itertools.pairwise(cuts):
            correct(query, home / "wh", CorrectionRange(*interval, arrival=True), no_spark)
    return view_of(query, home / "wh")


def ask(view: QueryView, **settings: object) -> AnswersShown:
    shown = read(view, AnswersRequest.model_validate(settings))
    return AnswersShown.model_validate_json(shown.model_dump_json())


def pages(view: QueryView, **settings: object) -> Iterator[AnswersShown]:
    before = None
    while True:
        page = ask(view, **settings, before=before)
        yield page
        if page.next is None:
            return
        before = page.next


def same(one: Row | None, other: Row | None) -> bool:
    """By the columns of answers; doubles to the last digits."""
    if one is None or other is None:
        return one is other
    values = [[row[name] for name in one if name not in HIDDEN] for row in (one, other)]
    return all(
        mine == (pytest.approx(theirs, rel=1e-9) if isinstance(theirs, float) else theirs)
        for mine, theirs in zip(*values, strict=True)
    )


@pytest.fixture(scope="module")
def expected(view) -> list[Row]:
    """A row of answers each, newest first: streamed, latest, and what the panel says of it."""
    found, late = [], view.tables.read("late").to_pylist()
    for answer, versions in all_versions(view.tables).items():
        streamed = next((rows for _, corrected, rows in reversed(versions) if not corrected), [])
        as_of, _, latest = versions[-1]
        newest = max(horizon_of(row) for _, _, rows in versions for row in rows)
        tuples = latest[0]["tuples"] if latest else 0
        lacking = lacks(late, answer, versions[-1], SETTINGS.size)
        for rank in sorted({row.get("rank", 0) for row in (*streamed, *latest)}):
            mine, other = (
                next((row for row in rows if row.get("rank", 0) == rank), None) for rows in (streamed, latest)
            )
            found.append(
                {
                    "order": (-newest, answer, rank),
                    "rows": [row for _, _, rows in versions for row in rows],
                    "streamed": mine,
                    "latest": other,
                    "is_changed": not same(mine, other),
                    "as_of": as_of,
                    "tuples": tuples,
                    "coverage": tuples / (tuples + lacking) if tuples + lacking else None,
                }
            )
    return sorted(found, key=lambda row: row["order"])


def cells(view: QueryView, row: Row | None) -> list | None:
    if row is None:
        return None
    names = [name for name in row if name not in HIDDEN]
    texts = {name for name in ("key", "id", "left_id", "right_id") if row.get(name) is not None}
    return [str(row[name]) if name in texts else row[name] for name in names]


def as_expected(view: QueryView, rows: list[Row]) -> list[tuple]:
    return [
        (
            cells(view, row["streamed"]),
            cells(view, row["latest"]),
            *(row[name] for name in ("is_changed", "as_of", "tuples", "coverage")),
        )
        for row in rows
    ]


def as_shown(rows: list[AnswerRow]) -> list[tuple]:
    return [(row.streamed, row.latest, row.is_changed, row.as_of, row.tuples, row.coverage) for row in rows]


@pytest.mark.needs("long")
def test_answers_come_newest_first_page_by_page_and_each_once(view, expected):
    shown = [page.rows for page in pages(view, limit=137)]
    assert all(len(rows) <= 137 for rows in shown)
    rows = [row for part in shown for row in part]
    assert as_shown(rows) == as_expected(view, expected)
    if view.query.table is None:
        assert any(row.is_changed for row in rows)
        assert any(not row.is_changed for row in rows)


@pytest.mark.needs("long")
def test_a_page_of_one_has_an_answer_whole(view, expected):
    first = ask(view, limit=1).rows
    rows = [row for page in itertools.islice(pages(view, limit=1), 6) for row in page.rows]
    assert as_shown(rows) == as_expected(view, expected[: len(rows)])
    assert len({row.id for row in first}) == 1


@pytest.mark.needs("long")
def test_each_answer_has_one_id_of_its_own(view, expected):
    rows = [row for page in pages(view, limit=500) for row in page.rows]
    versions = all_versions(view.tables)
    shown = {row["order"][1] for row in expected}
    assert len({row.id for row in rows}) == len(shown) <= len(versions)
    assert all(len(row.id) < 400 for row in rows)
    assert {row.id for row in rows} == {row.id for page in pages(view, limit=190) for row in page.rows}


@pytest.mark.needs("long")
def test_a_range_of_event_time_and_a_key_have_the_answers_in_them(view, expected):
    times = sorted(-row["order"][0] for row in expected)
    low, high = times[len(times) // 3], times[2 * len(times) // 3]

    def is_in(row: Row) -> bool:
        if "window_end" in row:
            return row["window_start"] < high and row["window_end"] > low
        return any(at is not None and low <= at < high for at in (row["left_time"], row["right_time"]))

    def in_range(found: list[Row]) -> list[Row]:
        """Those of which a version lies in the range, in the order of the newest one in it."""
        mine = [(row, [horizon_of(each) for each in row["rows"] if is_in(each)]) for row in found]
        there = [(-max(horizons), *row["order"][1:], row) for row, horizons in mine if horizons]
        return [row for *_, row in sorted(there, key=lambda each: each[:3])]

    rows = [row for page in pages(view, **{"from": low, "to": high, "limit": 120}) for row in page.rows]
    assert as_shown(rows) == as_expected(view, in_range(expected))
    assert 0 < len(rows) < len(expected)
    if "key" in expected[0]["rows"][0]:
        of_key = in_range([row for row in expected if row["order"][1][0] == "k2"])
        rows = [row for page in pages(view, **{"from": low, "to": high, "key": "k2"}) for row in page.rows]
        assert as_shown(rows) == as_expected(view, of_key) != []


def first_like(row: Row, rows: list[Row]) -> Row | None:
    """The first row of its rank; a pair that was given twice, with two times, is not right."""
    return next((other for other in rows if other.get("rank") == row.get("rank")), None)


def expected_right(view: QueryView) -> list[tuple[int, float]]:
    """The share at each point of arrival time with a version, by the definition."""
    every, late = all_versions(view.tables), view.tables.read("late").to_pylist()
    horizons = {
        answer: max(horizon_of(row) for _, _, rows in versions for row in rows) for answer, versions in every.items()
    }
    streamed = [
        (horizon_of(row), as_of)
        for versions in every.values()
        for as_of, corrected, rows in versions
        for row in rows
        if not corrected
    ]
    given: dict[tuple, int] = {}
    right: dict[tuple, list[tuple[int, bool]]] = {}
    for answer, versions in every.items():
        mine = [as_of for as_of, corrected, _ in versions if not corrected]
        latest = versions[-1][2]
        if mine or latest:
            due = [as_of for horizon, as_of in streamed if horizon >= horizons[answer]]
            given[answer] = min(mine) if mine else min([*due, versions[0][0]])
            is_known = not lacks(late, answer, versions[-1], SETTINGS.size)
            right[answer] = [
                (
                    as_of,
                    is_known and len(rows) == len(latest) and all(same(row, first_like(row, latest)) for row in rows),
                )
                for as_of, _, rows in versions
            ]
    points = []
    for at in sorted({as_of for versions in right.values() for as_of, _ in versions} | {*given.values()}):
        counted = [right[answer] for answer, since in given.items() if since <= at]
        in_force = [[is_right for as_of, is_right in versions if as_of <= at][-1:] for versions in counted]
        points.append((at, sum(map(any, in_force)) / len(counted)))
    return points


@pytest.mark.needs("long")
def test_the_share_that_was_right_is_that_of_the_answers_in_force_that_no_correction_changes(view):
    shown = ask(view).right
    expected = expected_right(view)
    assert shown.at == [at for at, _ in expected]
    assert shown.share == pytest.approx([share for _, share in expected])


@pytest.fixture(scope="module")
def windows(tmp_path_factory) -> QueryView:
    """A query of windows, of which all late tuples are corrected."""
    home = tmp_path_factory.mktemp("windows")
    query = MAKERS["windows"](home)
    Driver(query, home / "wh").run(60, flush=True)
    correct(query, home / "wh", CorrectionRange(), no_spark)
    return view_of(query, home / "wh")


def test_the_share_ends_at_1_once_all_is_corrected(windows):
    shown = ask(windows)
    assert shown.right.share[-1] == 1.0
    assert min(shown.right.share) < 1
    assert shown.note is None


def test_keys_are_those_of_the_answers_and_a_chart_is_of_one_of_them(windows):
    shown = ask(windows)
    assert (shown.keys, shown.chart) == ([f"k{n}" for n in range(5)], None)
    chart = ask(windows, key="k1").chart
    ends = {}
    for (key, end), versions in all_versions(windows.tables).items():
        streamed = next((rows[0]["value"] for _, is_one, rows in versions if not is_one), None)
        latest = versions[-1][2][0]["value"] if versions[-1][2] else None
        if key == "k1" and (streamed, latest) != (None, None):
            ends[end] = streamed, latest
    assert chart.at == sorted(ends)
    (series,) = chart.series
    assert series.name == "value"
    assert list(zip(series.streamed, series.latest, strict=True)) == [ends[end] for end in sorted(ends)]
    assert any(streamed is None for streamed in series.streamed)


def test_a_chart_is_thinned(windows, monkeypatch):
    monkeypatch.setattr(answer_chart, "extremes", lambda columns: extremes(columns, 20))
    chart = ask(windows, key="k1").chart
    assert len(chart.at) == len(chart.series[0].latest) <= 24


def test_what_lies_beyond_those_looked_at_is_said_and_follows(windows, monkeypatch):
    def listed() -> list[tuple]:
        return as_shown([row for page in pages(windows, limit=150) for row in page.rows])

    whole = listed()
    monkeypatch.setattr(module, "LOOKED_AT", 150)
    assert ask(windows, limit=150).note == "Keys, chart and share are of 150 answers; older ones follow."
    assert listed() == whole
    monkeypatch.setattr(module, "LOOKED_AT", 10_000)
    monkeypatch.setattr(newest_answers, "MANY", 0)
    monkeypatch.setattr(newest_answers, "AT_ONCE", 0)
    assert listed() == whole


def test_no_file_of_older_answers_is_read(tmp_path):
    query = MAKERS["windows"](tmp_path)
    driver = Driver(query, tmp_path / "wh")
    driver.run(60, flush=True)
    view = view_of(query, tmp_path / "wh")
    expected = ask(view, limit=3)
    files = pa.table(driver.tables.open("results").get_add_actions(flatten=True)).to_pylist()
    oldest = sorted(files, key=lambda file: file["max.window_end"])[: len(files) // 2]
    for file in oldest:
        (driver.layout.table("results") / file["path"]).unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOOKED_AT", 4)
        assert ask(view, limit=3).rows == expected.rows
    with pytest.raises(Damaged):
        ask(view)


def test_a_place_a_range_and_a_key_that_are_none_are_refused(windows):
    for text in ("", "x", "1", "1.x", "1.-1", f"{1 << 62}.0", "1.2.3"):
        with pytest.raises(Refused, match="it is no place in the list of answers"):
            ask(windows, before=text)
    most = newest_answers.MOST_SKIPPED
    assert ask(windows, before=f"{EPOCH}.{most}").next is None
    with pytest.raises(Refused, match=r"^before 1\S*: more than 1,000,000 answers with its time stand before it"):
        ask(windows, before=f"{EPOCH}.{most + 1}")
    with pytest.raises(Refused, match=r"^from, to: .* is not after"):
        ask(windows, **{"from": EPOCH, "to": EPOCH})
    assert ask(windows, key="nobody").note == "There are no answers here."
    for settings in ({"limit": 0}, {"limit": 1001}, {"other": 1}, {"from": "soon"}, {"to": 1 << 60}):
        with pytest.raises(ValidationError):
            ask(windows, **settings)


def test_no_table_and_an_empty_one_say_so(tmp_path):
    query = MAKERS["windows"](tmp_path)
    assert ask(view_of(query, tmp_path / "wh")).note == "There are no answers yet: the stream has not begun."
    Driver(query, tmp_path / "wh").begin()
    shown = ask(view_of(query, tmp_path / "wh"))
    assert (shown.note, shown.rows, shown.next) == ("There are no answers yet.", [], None)


def test_columns_of_a_list_of_keys_stand_for_the_key_and_integers_beyond_doubles_are_texts(tmp_path):
    (tmp_path / "in").mkdir()
    big = (1 << 53) + 1
    rows = [
        {"event_time": EPOCH, "arrival_time": EPOCH, "id": n, "country": "DE", "shop": n, "points": 1, "value": big}
        for n in range(2)
    ]
    write_json(rows, tmp_path / "in", 0)
    stream = {name: name for name in ("event_time", "arrival_time", "id")}
    stream |= {"source": {"format": "json", "path": str(tmp_path / "in")}, "key": ["country", "shop"]}
    declared = {"name": "readings", "kind": "topk", "streams": {"readings": stream}, "window": {"size": "1 s"}}
    query = declared_query(declared | {"topk": {"k": 1, "score": "points", "select": ["value"]}})
    Driver(query, tmp_path / "wh").run(flush=True)
    view = view_of(query, tmp_path / "wh")
    shown = ask(view, key='["DE", 1]')
    assert [(head.name, head.type) for head in shown.columns] == [
        ("country", "text"),
        ("shop", "number"),
        ("window_start", "time"),
        ("window_end", "time"),
        ("rank", "number"),
        ("id", "text"),
        ("score", "number"),
        ("value", "text"),
    ]
    assert [row.latest for row in shown.rows] == [["DE", 1, EPOCH, EPOCH + 1000, 1, "1", 1.0, str(big)]]
    assert shown.keys == ['["DE",1]']
    with pytest.raises(Refused, match=r"^key DE: the query's keys are lists of country, shop"):
        ask(view, key="DE")


def test_answers_without_a_key_and_with_names_have_a_chart_of_each_number(tmp_path):
    (tmp_path / "in").mkdir()
    late = {"event_time": EPOCH + 10, "arrival_time": EPOCH + 9000, "id": "late", "value": 2.5, "name": "z"}
    rows = [
        {"event_time": EPOCH + 1000 * n, "arrival_time": EPOCH + 1000 * n, "id": f"t{n}", "value": 0.5, "name": "a"}
        for n in range(8)
    ]
    write_json([*rows, late], tmp_path / "in", 0)
    stream = {name: name for name in ("event_time", "arrival_time", "id")}
    stream |= {"source": {"format": "json", "path": str(tmp_path / "in")}}
    declared = {"name": "readings", "kind": "aggregate", "streams": {"readings": stream}, "window": {"size": "1 s"}}
    named = {"total": {"function": "sum", "column": "value"}, "newest": {"function": "last", "column": "name"}}
    query = declared_query(declared | {"aggregate": named | {"number": {"function": "count"}}})
    Driver(query, tmp_path / "wh").run(flush=True)
    correct(query, tmp_path / "wh", CorrectionRange(), no_spark)
    view = view_of(query, tmp_path / "wh")
    shown = ask(view)
    assert [each.name for each in shown.chart.series] == ["total", "number"]
    assert (shown.chart.series[0].streamed[0], shown.chart.series[0].latest[0]) == (0.5, 3.0)
    assert shown.keys == []
    (changed,) = [row for row in shown.rows if row.is_changed]
    one = one_answer.read(view, one_answer.AnswerRequest(id=changed.id))
    assert [(each.id, each.values) for each in one.late] == [("late", {"value": 2.5, "name": "z"})]
    assert (
        "The correction of everything made it total 3 instead of 0.5, newest z instead of a, number 2 instead of 1"
        in one.summary
    )
    assert "1 tuple came late, at 2020-01-01T00:00:09.000Z, 8.99 s after its event time, from " in one.summary
