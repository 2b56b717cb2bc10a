"""Arguments and options that several commands have."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.query_names import is_query_name
from tailrace.terminal import screen

_WAREHOUSE, _HERE = "TAILRACE_WAREHOUSE", "warehouse"


class Form(StrEnum):
    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


def is_name(query: str, streams: Path | None = None) -> bool:
    """Test whether a command names a query of the warehouse, and no file.

    Raises
    ------
    Refused
        When there are `streams` beside a name.
    """
    is_named = is_query_name(query) and not Path(query).is_file()
    if is_named and streams is not None:
        raise refuse("--streams", f"{query} is a query's name, and no file", "none; or a FILE of SQL text")
    return is_named


def _file_or_name(parameter: typer.CallbackParam, value: str) -> str:
    """Refuse a URL, as `local_path`."""
    return str(local_path(parameter, Path(value)))


def _name_warehouse(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """Print the used warehouse, unless an option names it, once work begins, or below a refusal."""
    source = context.get_parameter_source(str(parameter.name))
    if source is not None and source.name != "COMMANDLINE":
        by = (
            f"as {_WAREHOUSE} says"
            if os.environ.get(_WAREHOUSE)
            else f"here; --warehouse or {_WAREHOUSE} names another"
        )
        location = value if is_url(value) else str(Path(value).absolute())
        screen.say_with_work(location, f"warehouse: {value}, {by}")
    return value


File = Annotated[Path, typer.Argument(help="The query file.", metavar="FILE", callback=local_path)]
FileOrName = Annotated[
    str,
    typer.Argument(
        help="The query file; or the name of a query of the warehouse.", metavar="FILE|NAME", callback=_file_or_name
    ),
]
Streams = Annotated[
    Path | None,
    typer.Option(help="Of a FILE of SQL text: the YAML file with its streams.", metavar="FILE", callback=local_path),
]
Warehouse = Annotated[
    str,
    typer.Option(
        help="The directory that holds the tables of all queries; or a URL of an object store, such as s3://bucket/wh.",
        envvar=_WAREHOUSE,
        default_factory=lambda: _HERE,
        show_default=_HERE,
        callback=_name_warehouse,
    ),
]
Output = Annotated[Path | None, typer.Option(help="The file to write; absent: the terminal.", callback=local_path)]
Wide = Annotated[bool, typer.Option("--wide", help="A table on the terminal has all columns, however wide.")]
Limit = Annotated[int, typer.Option(help="How many rows a table on the terminal shows.", min=0)]
