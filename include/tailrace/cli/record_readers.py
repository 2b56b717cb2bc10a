"""The commands that show records instead of answers: rejected ones, and late ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer

from tailrace.cli.arguments import FileOrName, Form, Limit, Output, Streams, Warehouse, Wide, is_name
from tailrace.ground.words import counted
from tailrace.terminal import screen

if TYPE_CHECKING:
    from tailrace.api.rows import Rows

_REJECTED = ("reason", "record", "place")
"""The columns of rejected records that a terminal shows."""
_LATE_LAST = ("stream", "tick", "frontier", "total")
"""The least important columns of late tuples."""


def quarantine(
    query: FileOrName,
    warehouse: Warehouse,
    limit: Limit = 50,
    format: Annotated[Form, typer.Option(help="How the records are written.")] = Form.table,
    output: Output = None,
    streams: Streams = None,
    wide: Wide = False,
) -> None:
    """Show the rejected records, in order of arrival: why each is no tuple, its content, and its place."""
    from tailrace.sources.record_place import places_of
    from tailrace.terminal.answers import write_answers
    from tailrace.terminal.tables import print_folded

    rows = _rows(query, streams, warehouse, "quarantine", format, output)
    records = rows.raw.take(_in_order(rows.raw))
    if format is not Form.table or output is not None or wide:
        write_answers(records, rows.columns, format.value, output, limit, wide, rows.times)
        return
    if not records.num_rows:
        screen.err.print("no record was rejected")
        return
    first = records.slice(0, limit)
    places = places_of(first["position"].to_pylist())
    shown = [
        [str(reason), str(record), place]
        for reason, record, place in zip(first["reason"].to_pylist(), first["record"].to_pylist(), places, strict=True)
    ]
    more = f"the first {limit:,} of {records.num_rows:,}; --limit or --format gives more"
    print_folded(_REJECTED, shown, more if records.num_rows > limit else None)


def late(
    query: FileOrName,
    warehouse: Warehouse,
    limit: Limit = 50,
    format: Annotated[Form, typer.Option(help="How the tuples are written.")] = Form.table,
    output: Output = None,
    streams: Streams = None,
    wide: Wide = False,
    records: Annotated[bool, typer.Option("--records", help="Each late tuple, with the place of its record.")] = False,
) -> None:
    """Show the late tuples, in order of arrival: of windows how many by key, pane and tick; of pairs their ids."""
    from tailrace.terminal.answers import write_answers

    if records:
        _late_records(query, streams, warehouse, format, output, limit, wide)
        return
    rows = _rows(query, streams, warehouse, "late", format, output)
    tuples = rows.raw.sort_by("arrived")
    flat = [name for name in rows.columns if not pa.types.is_nested(tuples.schema.field(name).type)]
    columns = sorted(flat, key=lambda name: name in _LATE_LAST)
    if tuples.num_rows or format is not Form.table:
        write_answers(tuples, columns, format.value, output, limit, wide, rows.times)
        if format is Form.table and output is None and "tuples" in columns:
            total = pc.sum(tuples["tuples"]).as_py()
            late_tuples, rows_of_them = counted(total, "late tuple"), counted(tuples.num_rows, "row")
            screen.err.print(f"{late_tuples} in {rows_of_them}: a row has those of a key, a pane and a tick")
    else:
        screen.err.print("no tuple came late")


def _late_records(
    query: str, streams: Path | None, warehouse: str, form: Form, output: Path | None, limit: int, wide: bool
) -> None:
    """Show the late tuples one by one; a table on the terminal only has the first ones."""
    from tailrace.cli.opening import open_named
    from tailrace.terminal.answers import require_output, write_answers

    require_output(form.value, output)
    opened = open_named(query, streams, warehouse)
    is_shown = form is Form.table and output is None
    rows = opened.late(records=True, limit=limit if is_shown else None)
    if not rows.raw.num_rows and is_shown:
        screen.err.print("no tuple came late")
        return
    write_answers(rows.raw, rows.columns, form.value, output, limit, wide, rows.times)
    more = pc.sum(opened.late().raw["tuples"]).as_py() - rows.raw.num_rows if is_shown else 0
    if more > 0:
        screen.err.print(f"… and {more:,} more: --limit or --format gives them")


def _rows(query: str, streams: Path | None, warehouse: str, table: str, form: Form, output: Path | None) -> Rows:
    """Read one of the stream's tables, by the query's file or its name."""
    from tailrace.api.named import rows_named
    from tailrace.cli.opening import open_query
    from tailrace.terminal.answers import require_output

    require_output(form.value, output)
    if is_name(query, streams):
        return rows_named(query, warehouse, table)
    opened = open_query(Path(query), streams, warehouse)
    return opened.quarantine() if table == "quarantine" else opened.late()


def _in_order(rejected: pa.Table) -> pa.Array:
    """Return the order of rejected records: by arrival, stream, file, and number in the file."""
    position = rejected["position"]
    parts = pc.extract_regex(position, r"^(?P<file>.*)#(?P<number>\d{1,18})$")
    columns = {name: rejected[name] for name in ("arrival_time", "stream")}
    columns["file"] = pc.coalesce(pc.struct_field(parts, "file"), position)
    columns["number"] = pc.struct_field(parts, "number").cast(pa.int64())
    return pc.sort_indices(pa.table(columns), [(name, "ascending") for name in columns])
