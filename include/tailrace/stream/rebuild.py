"""Rebuilds a stream from its journal and its tables; records that the tables lack are read from its source.

If no answer changes (a lost checkpoint, a different parallelism), the journal is run again into a new checkpoint, and
the tables stay, as they have all answers. If answers change (a different window or function, …), all of them are
computed again, from the same segments, into tables beside the old ones. The result takes effect at
once, at the end; replaced parts are kept aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.delivery.places import check_places, deliver_all, locked_places
from tailrace.engine.answer_files import AnswerFiles
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.task_states import TaskStates
from tailrace.ground.errors import Busy, Problem, refuse
from tailrace.ground.facts import is_table
from tailrace.ground.files.object_path import on_disk
from tailrace.query.query import Query
from tailrace.storage.checkpoint import check_journal, entries_in_tables
from tailrace.storage.journal import Journal, LogPosition
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest, changes, keeps_answers
from tailrace.storage.replay import replay_of
from tailrace.storage.switch import resume
from tailrace.storage.table_schemas import schemas, stream_tables
from tailrace.storage.tables import VACUUM, Tables
from tailrace.storage.writer import only_driver
from tailrace.stream.app import OpenExecutor
from tailrace.stream.planned_rebuild import Rebuild, clear, entries_of
from tailrace.stream.replayed_readers import require_readable, stored_rows, with_stored_segments
from tailrace.stream.restated_journal import restated, types_of
from tailrace.stream.run import OnBatch, StreamRun
from tailrace.stream.run_options import BATCH_ROWS
from tailrace.stream.sink import Sink
from tailrace.stream.source_sample import require_types
from tailrace.stream.status_reporter import StatusReporter
from tailrace.stream.stream_tables import StreamTables
from tailrace.tables.stream import is_history

_MOST_WORK = 1_000_000  # bound of a batch's partials and answers, as in a stream


def rebuild(
    query: Query, layout: Layout, file: Path, on_batch: OnBatch | None, open_executor: OpenExecutor
) -> Rebuild | None:
    """Rebuild a query's stream; return the rebuild, or None if it only completed an earlier, interrupted one.

    Raises
    ------
    Refused
        When there is no stream, or one of another format; the query can't be rebuilt; or a part of its log is lost.
    Busy
        While a driver, a correction or a calibration runs; or if it was drained before its end.
    """
    on_disk(layout.home)
    layout.read_manifest()  # it refuses another format before anything is written
    with _alone(layout):
        if resume(layout):
            clear(layout)
            _deliver(query, layout)
            return None
        planned = plan_rebuild(query, layout, file)
        check_places(layout, planned.query, planned.pipeline.kind)
        planned.begin()
        if planned.batches:
            _run_batches(planned, on_batch, open_executor)
        with locked_places(layout, planned.query, planned.pipeline.kind):
            planned.put_in_force()
        _deliver(planned.query, layout)
    return planned


def _deliver(query: Query, layout: Layout) -> None:
    manifest = layout.manifest()
    if manifest is not None:
        query = query.fixed_by(manifest.structure)
        deliver_all(layout, query, CompiledQuery.declare(query).bind(manifest.types).kind)


def _run_batches(planned: Rebuild, on_batch: OnBatch | None, open_executor: OpenExecutor) -> None:
    """Run the batches of a rebuild.

    Raises
    ------
    Busy
        When a drain was requested before the last one.
    """
    tables, states = (
        StreamTables.open(planned.built, planned.pipeline, planned.manifest.id),
        TaskStates(planned.built.states),
    )
    tables.create()
    sink, planner = Sink(tables, entries=planned.in_tables), planned.planner

    def then_sweep(batch: int, rows_left: int, rows: dict[str, pa.Table]) -> None:
        states.sweep(batch + 1)  # the batch before may have merged several entries
        if on_batch is not None:
            on_batch(batch, rows_left, rows)

    with open_executor(planned.pipeline, states) as executor:
        run = StreamRun(planned.built, planner, StatusReporter(planned.built), sink, executor, 0, then_sweep)
        run.run()
    if run.done != planner.batches:
        fault = "it was asked to drain before it had built everything, so all is as it was"
        raise Busy([Problem(str(planned.layout.home), fault, "to run it again")])


def plan_rebuild(query: Query, layout: Layout, file: Path) -> Rebuild:
    """Plan a rebuild; writes nothing.

    Raises
    ------
    Refused
        As `rebuild`.
    """
    on_disk(layout.home)  # it renames directories
    manifest = layout.manifest()
    if manifest is None:
        raise refuse(str(layout.home), "the query has no stream here", "tailrace run, or tailrace deploy")
    journal = Journal(layout.journal)
    last = journal.last()
    if last is None:
        raise refuse(str(layout.home), "its stream has run no batch", f"rm -r {layout.stream}, to begin again")
    query = query.fixed_by(manifest.structure)
    same = keeps_answers(changes(manifest, query))
    make_plan = _same_answers if same else _other_answers
    return make_plan(query, layout, manifest, last.header.batch + 1, file)


def _same_answers(query: Query, layout: Layout, manifest: CheckpointManifest, planned: int, file: Path) -> Rebuild:
    """Plan a new checkpoint that replays the journal's first entries, whose segments are all in the tables."""
    journal, built = Journal(layout.journal), replace(layout, checkpoint_name="checkpoint.built")
    compiled = CompiledQuery.declare(query).bind(manifest.types)
    require_types(compiled)
    pipeline = compiled.pipeline(layout.histories(query.streams), built.chunks)
    histories = [reader.history.name for reader in pipeline.readers if reader.history is not None]
    in_tables = entries_in_tables(layout, manifest, stream_tables(histories))
    count, merges_until = _with_segments(in_tables), min(in_tables.values())
    check_journal(layout, max(in_tables.values()))
    replay = replay_of(entries_of(journal, count), _work(layout), BATCH_ROWS, _MOST_WORK, merges_until)
    columns = {reader.name: reader.columns.named() for reader in pipeline.readers}
    position = journal[count - 1].position if count else LogPosition()
    readers = with_stored_segments(pipeline.readers, layout, columns, position.segments)
    require_readable(query, readers, entries_of(journal, count))
    rows = stored_rows(readers, entries_of(journal, count))
    readers = tuple(replace(reader, history=None) for reader in readers)  # the table has all segments
    pipeline = replace(pipeline, readers=readers, plans_from=planned, table_versions=layout.table_versions)
    after = replace(manifest, structure=query.structure(), plans_from=planned)
    return Rebuild(query, layout, built, manifest, after, pipeline, replay, position.rows, rows, in_tables)


def _other_answers(query: Query, layout: Layout, manifest: CheckpointManifest, planned: int, file: Path) -> Rebuild:
    """Plan new tables and a new journal for all segments of the old journal."""
    journal, built = Journal(layout.journal), Layout(layout.home / "_built" / layout.home.name)
    names = {name for name in manifest.types if not is_table(name)}
    if set(query.streams) != names:
        fault = f"its streams were {', '.join(sorted(names))}, and their log is theirs"
        raise refuse(f"{file}: streams", fault, "the same names; or another name for the query, to begin again")
    tables = Tables(layout)
    histories = [path.name for path in layout.histories(query.streams).values() if tables.has(path.name)]
    count = _with_segments(entries_in_tables(layout, manifest, stream_tables(histories)))
    check_journal(layout, count)
    compiled = CompiledQuery.declare(query)
    types = types_of(compiled, manifest, layout, built)
    compiled = compiled.bind(types)
    require_types(compiled)
    columns = {name: each.named() for name, each in compiled.sources.items()}
    after = CheckpointManifest.new(query.structure(), types, manifest.identities, columns)
    pipeline = compiled.pipeline(built.histories(query.streams), built.chunks)
    entries = restated(query, entries_of(journal, planned))
    replay = replay_of(entries, _work(layout), BATCH_ROWS, _MOST_WORK, merges_until=planned)
    segments = journal[count - 1].position.segments if count else 0
    readers = with_stored_segments(pipeline.readers, layout, _history_columns(query, manifest), segments)
    require_readable(query, readers, entries_of(journal, planned))
    rows = stored_rows(readers, entries_of(journal, planned))
    answer_files = None
    if query.table is not None:
        answer_files = AnswerFiles(built.table("results"), schemas(pipeline.kind)["results"], built.table_versions)
    pipeline = replace(pipeline, readers=readers, answer_files=answer_files, table_versions=built.table_versions)
    return Rebuild(query, layout, built, manifest, after, pipeline, replay, journal[planned - 1].position.rows, rows)


def _history_columns(query: Query, manifest: CheckpointManifest) -> Mapping[str, Mapping[str, str]]:
    """Return the source's columns in history, for streams without expressions whose time zone is unchanged.

    History lacks the source's records if the stream has a `where`, lookups or derived columns. It lacks those with a
    null in a key if they went to quarantine, and the key is another one now, or a null is a group.
    """
    before, now = manifest.structure, query.structure()
    keys = {name: (f"streams.{name}.null_key", f"streams.{name}.key") for name in manifest.columns}
    without_nulls = {name: fields for name, fields in keys.items() if before.get(fields[0]) == "quarantine"}
    had_expressions = {
        name
        for name in manifest.columns
        for field, value in manifest.structure.items()
        if value is not None
        and field.startswith(tuple(f"streams.{name}.{each}" for each in ("where", "columns.", "lookup.")))
    }
    return {
        name: columns
        for name, columns in manifest.columns.items()
        if name not in had_expressions
        and (name not in without_nulls or all(before.get(field) == now.get(field) for field in without_nulls[name]))
        and manifest.structure.get(f"streams.{name}.timezone") == query.streams[name].timezone
    }


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Hold a query's stream, and keep out corrections, calibrations and the removal of files."""
    with only_driver(layout), layout.lock("correction"), layout.lock("calibration"), layout.lock(VACUUM):
        yield


def _with_segments(in_tables: Mapping[str, int]) -> int:
    """Return the number of the journal's first entries whose segments are all in the tables."""
    needed = (name for name in in_tables if is_history(name) or name in ("segments", "quarantine"))
    return min(in_tables[name] for name in needed)


def _work(layout: Layout) -> Mapping[int, int]:
    """Return the number of partials and answers of each batch in the table `metrics`."""
    tables = Tables(layout)
    if not tables.has("metrics"):
        return {}
    rows = tables.read("metrics", ["batch", "partials", "answers"])
    work = pc.add(pc.fill_null(rows["partials"], 0), pc.fill_null(rows["answers"], 0))
    sums = rows.select(["batch"]).append_column("work", work).group_by("batch").aggregate([("work", "sum")])
    return dict(zip(sums["batch"].to_pylist(), sums["work_sum"].to_pylist(), strict=True))
