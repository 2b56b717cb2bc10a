"""The chain of queries that a query belongs to: each reads the answers of the one before it."""

from __future__ import annotations

from pathlib import Path

from tailrace.ground.errors import Refused, refuse
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.sources.answers_source import AnswersSource

_SUFFIXES = (".yaml", ".yml")


def upstream_of(query: Query) -> str | None:
    """Return the name of the query whose answers a query reads; None if it reads no answers."""
    sources = (stream.source for stream in query.streams.values())
    return next((source.query for source in sources if isinstance(source, AnswersSource)), None)


def chain_of(query: Query, file: Path | None) -> tuple[str, ...]:
    """Return the chain up to a query: the streams of its first query, and the names of its queries in order.

    The other queries are looked up in the query files of the same directory. A query without a file there ends the
    search: it counts as the first. For a query that is declared in code none is looked up.

    Raises
    ------
    Refused
        When the chain is a cycle.
    """
    names, first = [query.name], query
    while (name := upstream_of(first)) is not None:
        if name in names:
            cycle = " → ".join([name, *names[: names.index(name) + 1]])
            (stream,) = query.streams
            fault = f"the queries read each other's answers: {cycle}"
            where = f"query {query.name}" if file is None else str(file)
            raise refuse(f"{where}: streams.{stream}.source.query", fault, "a chain without a cycle")
        names.insert(0, name)
        upstream = None if file is None else _declared(name, file.parent)
        if upstream is None:
            return tuple(names)
        first = upstream
    return ", ".join(first.streams), *names


def _declared(name: str, directory: Path) -> Query | None:
    """Return the query of this name in a directory's files; first in the file named like it, then in others."""
    files = sorted(path for path in directory.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    for path in sorted(files, key=lambda path: path.stem != name):
        try:
            query = load(path)
        except (Refused, OSError):  # other faults of a file are reported when it is checked
            continue
        if query.name == name:
            return query
    return None
