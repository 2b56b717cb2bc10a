"""The number of tasks changes between two batches: by request or by an edit, with deaths, a rebuild, a correction."""

from __future__ import annotations

import errno
from contextlib import contextmanager

import pytest

from kit.oracles.oracle import batch
from kit.oracles.oracle_assertions import assert_close
from kit.runs.deaths import deaths
from kit.runs.kind_streams import TABLE_JOIN, query_of
from kit.runs.local_driver import correct_here
from kit.runs.rescaled_stream import PART, SETTINGS, TOPK, TUPLES, Rescaled, WorkerJobs
from kit.runs.warehouse import rows_of, tables_of
from tailrace.engine.task_states import TaskStates
from tailrace.ground.errors import Damaged, Refused
from tailrace.kinds import build
from tailrace.storage import checkpoint
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.rescale_request import RescaleRequest
from tailrace.storage.results import AnswerTables
from tailrace.storage.tasks_in_force import request_tasks
from tailrace.stream import task_number


@pytest.fixture(params=["aggregate", "topk"])
def rescaled(tmp_path, request) -> Rescaled:
    return Rescaled(tmp_path, None if request.param == "aggregate" else TOPK)


@pytest.mark.needs("long")
@pytest.mark.parametrize("steps", [*range(0, 24, 3), *range(25, 60, 10)])
def test_a_driver_that_dies_at_any_write_while_the_number_changes_gives_the_oracles_answers(
    rescaled, monkeypatch, steps
):
    dies = deaths(monkeypatch)
    rescaled.read()
    for tasks in (4, 1):
        assert rescaled.request(tasks) == (2 if tasks == 4 else 4)
        rescaled.write(2)
        with dies.after(steps):
            rescaled.driver.run(PART)
        rescaled.driver.run(PART)
        rescaled.assert_streamed()
        assert rescaled.tasks[-1] == tasks
    rescaled.driver.run(PART, flush=True)
    rescaled.assert_streamed(flush=True)
    assert rescaled.tasks == [2, 4, 4, 1, 1, 1], "each request is taken up once, at the first batch after it"
    assert [row["evidence"] for row in rescaled.facts] == [task_number.BY_HAND] * 2


def test_one_driver_takes_up_another_number_at_each_batch(rescaled, monkeypatch):
    numbers = [3, 4, 1, 2, 4]

    def read(layout: Layout) -> RescaleRequest:
        batch = Journal(layout.journal).count
        return RescaleRequest(str(batch), numbers[batch % len(numbers)])

    monkeypatch.setattr(RescaleRequest, "read", staticmethod(read))
    rescaled.read(5, flush=True)
    rescaled.assert_streamed(flush=True)
    assert rescaled.tasks == numbers


def test_the_groups_of_a_job_of_spark_move_the_state(rescaled):
    executor = contextmanager(lambda pipeline, states: (yield WorkerJobs(pipeline, states)))
    for tasks in (4, 1, 3, 2):
        rescaled.write()
        rescaled.driver.run(PART, open_executor=executor)
        rescaled.request(tasks)
    rescaled.write()
    rescaled.driver.run(PART, flush=True, open_executor=executor)
    rescaled.assert_streamed(flush=True)
    assert rescaled.tasks == [2, 4, 1, 3, 2]


def test_a_number_that_was_requested_outlives_restarts_and_an_edit_of_the_file_is_newer(tmp_path):
    life = Rescaled(tmp_path)
    life.read()
    life.request(4)
    life.read()
    life.read()
    assert life.tasks == [2, 4, 4]
    life.read(parallelism=3)
    assert life.tasks[3:] == [3]
    assert life.facts[-1]["evidence"] == task_number.DECLARED
    life.read(flush=True, parallelism=3)
    assert life.tasks[3:] == [3, 3]
    life.assert_streamed(flush=True)


def test_a_request_for_the_number_in_force_is_done_with(tmp_path):
    life = Rescaled(tmp_path)
    life.read()
    assert life.request(2) == 2
    life.read()
    life.read(parallelism=3)
    life.read(parallelism=3)
    assert life.tasks == [2, 2, 3, 3]


def test_a_rebuild_spreads_the_state_over_the_number_of_the_file(tmp_path):
    life = Rescaled(tmp_path)
    life.read(2)
    life.request(4)
    life.read()
    before = rows_of(tmp_path / "wh", "results", "late", "metrics")
    life.driver.rebuild(life.query())
    assert rows_of(tmp_path / "wh", *before) == before
    life.read()
    assert life.tasks[-2:] == [4, 2], "the request was taken up before"
    life.request(3)
    life.read(flush=True)
    assert life.tasks[-1] == 3
    life.assert_streamed(flush=True)


def test_batches_that_run_again_without_a_checkpoint_have_the_numbers_of_the_journal(tmp_path):
    life = Rescaled(tmp_path)
    for tasks in (4, 1, 3):
        life.read()
        life.request(tasks)
    life.read()
    life.driver.layout.checkpoint.rename(tmp_path / "lost")
    life.read(flush=True)
    assert life.tasks == [2, 4, 1, 3, 3]
    life.assert_streamed(flush=True)


def test_a_correction_after_changes_is_exact(tmp_path):
    life = Rescaled(tmp_path)
    for tasks in (4, 1, 3, 2):
        life.read()
        life.request(tasks)
    life.read(flush=True)
    correct_here(life.driver.query, tmp_path / "wh")
    answers = AnswerTables(tables_of(tmp_path / "wh"), build(life.driver.query).answers).latest().to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row["value"] for row in answers}
    expected = batch(TUPLES, SETTINGS)
    assert found.keys() == expected.keys()
    for window, version in expected.items():
        assert_close(found[window], version.value, version.sum_abs)


def test_a_lost_state_of_any_task_in_force_is_refused(tmp_path):
    life = Rescaled(tmp_path)
    life.read()
    life.request(4)
    life.read()
    states, newest = TaskStates(life.driver.layout.states), checkpoint.committed_batches(life.driver.layout) - 1
    assert states.missing(4, newest) is None
    (life.driver.layout.states / "3" / f"{newest:08d}.state").unlink()
    with pytest.raises(Damaged, match=r"/3/.* of a task is lost"):
        life.read()


def test_a_request_that_can_not_be_read_is_none(tmp_path):
    life = Rescaled(tmp_path)
    life.read()
    for text in ("", "[]", '{"id": "x"}', '{"id": "x", "tasks": "many"}'):
        (life.driver.layout.stream / "rescale.json").write_text(text)
        assert RescaleRequest.read(life.driver.layout) is None


def test_what_can_not_be_moved_is_refused_with_the_way_on(tmp_path):
    life = Rescaled(tmp_path)
    with pytest.raises(Refused, match=r"never run in this warehouse(.|\n)*parallelism: 4 in its file"):
        life.request(4)
    life.read()
    with pytest.raises(Refused, match=r"0 tasks(.|\n)*from 1 to 64"):
        life.request(0)
    join = query_of(TABLE_JOIN, tmp_path)
    with pytest.raises(Refused, match=r"a join with a table has no tasks(.|\n)*more cores"):
        request_tasks(life.driver.layout, join, 4)
    assert RescaleRequest.read(life.driver.layout) is None


def test_a_request_on_a_disk_that_is_away_is_taken_up_once_it_is_back(tmp_path, monkeypatch):
    home = Layout(tmp_path / "q")
    request, requests = RescaleRequest.new(4), task_number._Requests(home)
    home.stream.mkdir(parents=True)
    request.write(home)

    def fail(_: Layout) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as away:
        away.setattr(RescaleRequest, "read", fail)
        assert requests.last() is None
    assert requests.last() == request
