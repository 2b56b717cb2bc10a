"""K8 and K12, write by write: a half-published proposal, and a compaction that dies inside one table, history's too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.deaths import deaths
from kit.runs.local_tables import stream_into_tables
from kit.runs.warehouse import even, make_stream, rows_of, tables_of
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.storage import tables as storage
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.tables import Tables
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.stream import STREAM_TABLES

POLICY = CacheDuration(policy="cache_duration")
WRITES = ["add", "compact", "vacuum", "create_checkpoint", "cleanup_metadata"]
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
TUPLES = make_stream(120, seed=5)


def proposal(k_ms: int) -> Proposal:
    settings = POLICY.waiting(k_ms).model_dump_json()
    return Proposal(1, POLICY.model_dump_json(), settings, k_ms, 0, k_ms, (), 1, None, 0, "found")


@pytest.mark.parametrize("earlier", [0, 1])
@pytest.mark.parametrize("dies", range(len(WRITES)), ids=WRITES)
def test_a_proposal_is_there_in_whole_or_not_at_all(tmp_path, monkeypatch, earlier, dies):
    layout, steps = Layout.for_query(tmp_path, "readings"), deaths(monkeypatch)
    driver = Proposals(layout)  # asks between two batches
    for k_ms in (900,) * earlier:
        Proposals(layout).add(proposal(k_ms))
        assert driver.newest(POLICY).k_ms == k_ms
    with steps.after(dies):
        Proposals(layout).add(proposal(1200))
    before = 900 if earlier else None
    found = driver.newest(POLICY)
    assert (found and found.k_ms) == (1200 if dies else before)
    Proposals(layout).add(proposal(700))
    assert [asked.newest(POLICY).k_ms for asked in (driver, Proposals(layout))] == [700, 700]


def test_a_table_of_proposals_that_was_only_begun_proposes_nothing(tmp_path):
    layout = Layout.for_query(tmp_path, "readings")
    layout.table("proposals").mkdir(parents=True)  # died before the first commit
    assert Proposals(layout).newest(POLICY) is None
    Tables(layout).create({"proposals": PROPOSALS.schema()})  # died after it
    assert Proposals(layout).newest(POLICY) is None
    Proposals(layout).add(proposal(700))
    assert Proposals(layout).newest(POLICY).k_ms == 700


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """Tables of many small files, of which all but the newest may go at once after a compaction."""
    home = tmp_path_factory.mktemp("streamed")
    with pytest.MonkeyPatch.context() as patch:
        no_time = dict.fromkeys(storage.RETENTION, "interval 0 seconds")
        patch.setattr(storage, "RETENTION", no_time)
        stream_into_tables(home, SETTINGS, TUPLES, even(len(TUPLES), 4), kept=True)
    return home


def data_files(tables: Tables, name: str) -> set[Path]:
    return set(tables.layout.table(name).rglob("*.parquet")) - set(tables.layout.table(name).glob("_delta_log/*"))


def half_vacuum(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum dies amid its deletions."""
    vacuum = storage.DeltaTable.vacuum

    def in_the_middle(self, dry_run=True, full=False):
        doomed = vacuum(self, dry_run=True, full=full)
        for file in doomed[: len(doomed) // 2]:
            (Path(self.table_uri.removeprefix("file://")) / file).unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(storage.DeltaTable, "vacuum", in_the_middle)


@pytest.mark.parametrize("name", ["history", "results", "segments"])
@pytest.mark.parametrize(
    "point", ["staged", "compact", "vacuum", "amid vacuum", "create_checkpoint", "cleanup_metadata"]
)
def test_a_compaction_that_died_inside_a_table_loses_and_doubles_nothing(streamed, tmp_path, monkeypatch, name, point):
    shutil.copytree(streamed / "wh", tmp_path / "wh")
    tables = tables_of(tmp_path / "wh")
    before, files = sorted(map(str, tables.read(name).to_pylist())), data_files(tables, name)
    assert len(files) > 2
    with pytest.MonkeyPatch.context() as patch:
        if point == "staged":  # OPTIMIZE has written its file, and dies before the commit
            shutil.copyfile(min(files), min(files).parent / "part-staged-and-lost.parquet")
        elif point == "amid vacuum":
            half_vacuum(patch)
            with pytest.raises(KeyboardInterrupt):
                tables.compact([name])
            assert data_files(tables, name) < files | data_files(tables, name), "it died elsewhere"
        else:
            with deaths(patch).after(WRITES.index(point) - 1):
                tables.compact([name])
    assert sorted(map(str, tables.read(name).to_pylist())) == before
    tables.compact(STREAM_TABLES)
    assert sorted(map(str, tables.read(name).to_pylist())) == before
    assert len(data_files(tables, name)) == 1, "what was left behind is swept"
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
