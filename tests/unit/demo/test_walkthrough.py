"""Two demonstrations with a stream of a user's own between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from demo import scenarios, walkthrough
from demo.generated_data import GAME2, GROWING, declare, entries, finished_entries
from demo.inventory import Inventory
from demo.living_stream import LARGEST, LIVING, PAYMENTS
from demo.walkthrough import FLIGHTS, _Living, _start_afresh, demonstrate
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.held_directory import held_directory
from tailrace.query.loading import load

ROOT = Path(__file__).parents[3]


@pytest.fixture
def forgotten(monkeypatch):
    """The DAGs whose history was deleted; nothing runs that could be stopped."""
    forgotten = []
    monkeypatch.setattr(walkthrough, "forget_dags", lambda airflow, dags: forgotten.extend(dags))
    for host, stop in (("EmbeddedHost", "stop"), ("EmbeddedAirflow", "kill"), ("EmbeddedCluster", "stop")):
        monkeypatch.setattr(getattr(walkthrough, host), stop, lambda self: None)
    return forgotten


def put(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_a_stream_of_ones_own_is_intact_after_the_next_demonstration(tmp_path, forgotten):
    _start_afresh(tmp_path, [FLIGHTS], [], [])
    put(tmp_path / "tables" / "flights" / "log", tmp_path / "airflow" / "airflow.db")
    own = [tmp_path / "tables" / "mine" / "log", tmp_path / "queries" / "mine.yaml", tmp_path / "data" / "mine.parquet"]
    put(*own)
    _start_afresh(tmp_path, [FLIGHTS, GAME2], ["queries/flights.yaml", "data/flights"], ["taxis.png"])
    assert all(path.exists() for path in [*own, tmp_path / "airflow" / "airflow.db"])
    assert not (tmp_path / "tables" / "flights").exists()
    assert forgotten == [f"{kind}_flights" for kind in ("stream", "correct", "calibrate", "publish", "rebuild")]


def test_nothing_is_stopped_or_removed_where_a_place_is_taken(tmp_path, forgotten, monkeypatch):
    _start_afresh(tmp_path, [FLIGHTS], [], [])
    put(tmp_path / "tables" / "flights" / "log", tmp_path / "tables" / "game2" / "log")
    monkeypatch.setattr(walkthrough.EmbeddedHost, "stop", lambda self: pytest.fail("it was stopped"))
    with pytest.raises(Refused, match=r"tables/game2: no demonstration made it"):
        _start_afresh(tmp_path, [FLIGHTS, GAME2], [], [])
    assert (tmp_path / "tables" / "flights" / "log").exists()
    assert forgotten == []


def test_payments_that_came_after_the_start_do_not_keep_the_next_demonstration_away(tmp_path, forgotten):
    living, tables = list(LIVING), [tmp_path / "tables" / file.stem for file in LIVING]
    inventory = _start_afresh(tmp_path, living, entries(living), [])
    declare(tmp_path, living)
    inventory.complete(finished_entries(living))
    put(tmp_path / GROWING / "payments" / "part-00000.json", *(table / "log" for table in tables))
    _start_afresh(tmp_path, living, entries(living), [])
    assert not any(path.exists() for path in (tmp_path / GROWING, *tables))
    assert {"correct_card_payments", "correct_largest_payments"} <= set(forgotten)


def test_the_queries_of_the_payments_read_the_same_files_which_nobody_writes_but_the_living_stream(tmp_path):
    queries = [load(file) for file in declare(tmp_path, list(LIVING))]
    assert [query.stream[1].path for query in queries] == [tmp_path / GROWING / "payments"] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["queries"]


def test_each_query_of_the_payments_starts_after_the_one_before_it_and_none_is_calibrated_by_itself(
    tmp_path, monkeypatch
):
    done = []
    monkeypatch.setattr(scenarios, "flights", lambda *_, begun: (begun(), done.append("flights")))
    monkeypatch.setattr(scenarios, "payments", lambda query: done.append(f"deploy {query.name}") or query.name)

    def stub(file: Path) -> SimpleNamespace:
        def note(step: str) -> Callable[..., None]:
            return lambda *run: done.append(" ".join([step, file.stem, *run]))

        steps = ("unpause", "await_scheduled_calibration", "await_scheduled_correction")
        stream = {1: SimpleNamespace(path=tmp_path / GROWING)}
        query = SimpleNamespace(stream=stream)
        return SimpleNamespace(name=file.stem, query=query, **{step: note(step) for step in steps})

    with ExitStack() as running:
        living = _Living([stub(PAYMENTS), stub(LARGEST)], running)
        living.beside_flights(None, None)
        living.await_corrections(lambda _: None)
    assert done == [
        "unpause card_payments",
        "unpause largest_payments",
        "deploy card_payments",
        "flights",
        "await_scheduled_calibration largest_payments",
        "deploy largest_payments",
        "await_scheduled_correction card_payments card_payments",
        "await_scheduled_correction largest_payments largest_payments",
    ]


def test_a_query_file_that_somebody_changed_keeps_the_next_demonstration_away(tmp_path, forgotten):
    inventory = _start_afresh(tmp_path, [PAYMENTS], entries([PAYMENTS]), [])
    [file] = declare(tmp_path, [PAYMENTS])
    inventory.complete(finished_entries([PAYMENTS]))
    file.write_text(file.read_text() + "# mine\n")
    with pytest.raises(Refused, match=r"queries/card_payments.yaml: no demonstration made it as it is"):
        _start_afresh(tmp_path, [PAYMENTS], entries([PAYMENTS]), [])


@pytest.mark.parametrize(
    ("lacks", "fault"),
    [
        ("include/queries/flights.yaml", "include/queries/flights.yaml: cannot be read"),
        ("samples/flights/a.parquet", "samples/flights: there are no flights"),
        ("dags", "it is no checkout"),
    ],
)
def test_what_a_checkout_lacks_is_refused_before_anything_is_written(tmp_path, monkeypatch, lacks, fault):
    put(tmp_path / "dags" / "streams.py", tmp_path / "samples" / "flights" / "a.parquet", tmp_path / FLIGHTS)
    (tmp_path / FLIGHTS).write_text((ROOT / FLIGHTS).read_text())
    (tmp_path / lacks).rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(walkthrough, "Inventory", lambda _: pytest.fail("it was not refused"))
    with pytest.raises(Refused, match=fault):
        demonstrate(tmp_path / "home", bounded=True)
    assert not (tmp_path / "home").exists()


def test_a_demonstration_does_not_end_another_one_that_runs_in_its_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(walkthrough, "Inventory", lambda _: pytest.fail("it was not refused"))
    Inventory(tmp_path).begin([])
    held = held_directory(tmp_path, "", lambda: refuse("", "", ""))
    with held, pytest.raises(Refused, match="a demonstration runs there"):
        demonstrate(tmp_path, bounded=True)
