"""The SELECTs between a query and its stream: those that WITH names, and subqueries; each a projection and a filter."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tailrace.ground.near_names import nearest
from tailrace.sql.clauses import Clauses, clauses_of
from tailrace.sql.projected import Projected
from tailrace.sql.tokens import Piece
from tailrace.sql.windows import Source, source_of

_RIGHT = "WITH paid AS (SELECT *, amount / 1.19 AS net FROM events WHERE status = 'paid') SELECT … FROM paid …"
_MOST = 100
"""The most SELECTs on top of each other."""


@dataclass(frozen=True)
class Named:
    """A SELECT that WITH names."""

    name: Piece
    select: Piece


def named_selects(statement: Piece) -> tuple[list[Named], Piece]:
    """Return the SELECTs that WITH names, and the statement without them.

    Raises
    ------
    ExpressionError
    """
    named: list[Named] = []
    start = 1
    while statement.word(0) == "WITH" and (start == 1 or statement.word(start - 1) == ","):
        name, opening = statement[start : start + 1], start + 2
        if name.name is None or statement.word(start + 1) != "AS" or statement.word(opening) != "(":
            raise name.error("WITH without a name and its SELECT", _RIGHT)
        if any(other.name.name == name.name for other in named):
            raise name.error(f"WITH names two SELECTs {name.text}", "a name of its own for each")
        end = statement.close(opening)
        named.append(Named(name, statement[opening + 1 : end]))
        start = end + 2
    return named, statement[start - 1 :] if named else statement


def projected_by(source: Source, named: list[Named], stream: str, fixed: Collection[str]) -> Projected:
    """Return the rows of what stands after FROM: the stream, or a projection of it.

    Parameters
    ----------
    named : list of Named
        What WITH names; each has a reader.
    stream : str
        The name of the stream; empty where it is not known.

    Raises
    ------
    ExpressionError
    """
    selects, read, known = list[tuple[Clauses, str]](), list[Named](), named
    while (body := _body_of(source, known)) is not None:
        if len(selects) == _MOST:
            raise body.error(f"more than {_MOST} SELECTs stand on top of each other", "fewer")
        title = source.alias or "the subquery"
        if source.subquery is None:
            title, place = str(source.stream.name), _place_of(source, known)
            read.append(known[place])
            known = known[:place]
        clauses = clauses_of(body)
        source = _source_of(clauses, title)
        selects.append((clauses, title))
    if stream and source.stream.name != stream:
        near = nearest(source.stream.name or "", [stream, *(str(each.name.name) for each in known)])
        fault = f"{source.stream.text} is no stream of the query"
        raise source.stream.error(fault, near or f"{stream}, the stream under streams")
    require_read(named, read)
    rows = Projected(stream, frozenset(fixed), tables=frozenset({stream}))
    for clauses, title in reversed(selects):
        rows = rows.select(clauses, title)
    return rows


def require_read(named: list[Named], read: list[Named]) -> None:
    """Refuse a SELECT that WITH names and the query does not read; of two that read one, it reads one at most."""
    for name in (each.name for each in named if each not in read):
        remedy = f"FROM {name.text}, once, in the SELECT below it; or no {name.text}"
        raise name.error(f"{name.text} is not read by what is computed", remedy)


def _body_of(source: Source, known: list[Named]) -> Piece | None:
    """Return the SELECT that stands after FROM, or that WITH names so; None of a stream."""
    if source.subquery is not None:
        return source.subquery
    place = _place_of(source, known)
    return known[place].select if place < len(known) else None


def _place_of(source: Source, known: list[Named]) -> int:
    """Return the index of the SELECT that a name means; their number where it means none."""
    names = [each.name.name for each in known]
    return names.index(source.stream.name) if source.stream.name in names else len(known)


def _source_of(clauses: Clauses, title: str) -> Source:
    """Return what a SELECT reads that another one reads; refuses groups and windows in it."""
    if clauses.group:
        fault = f"GROUP BY in {title}, which another SELECT reads, as no query has it"
        raise clauses.group[0].error(fault, "columns and WHERE alone; groups in the last SELECT")
    source = source_of(clauses.source)
    if source.windows is not None:
        fault = f"windows in {title}, which another SELECT reads, as no query has them"
        raise clauses.source.error(fault, f"FROM {source.stream.text} here; the windows in the last SELECT")
    return source
