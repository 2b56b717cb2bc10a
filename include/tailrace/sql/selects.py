"""The SELECTs between a query and its stream, in WITH or as subqueries; each is a projection with a filter."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tailrace.ground.near_names import nearest
from tailrace.sql.clauses import Clauses, clauses_of
from tailrace.sql.projected import SelectedRows
from tailrace.sql.tokens import TokenSpan
from tailrace.sql.windows import Source, source_of

_RIGHT = "WITH paid AS (SELECT *, amount / 1.19 AS net FROM events WHERE status = 'paid') SELECT … FROM paid …"
_MOST = 100
"""The most nested SELECTs."""


@dataclass(frozen=True)
class Named:
    """A SELECT that WITH names."""

    name: TokenSpan
    select: TokenSpan


def named_selects(statement: TokenSpan) -> tuple[list[Named], TokenSpan]:
    """Return the SELECTs named by WITH, and the statement without them.

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


def projected_by(source: Source, named: list[Named], stream: str, fixed: Collection[str]) -> SelectedRows:
    """Return the rows of the FROM clause: the stream, or a projection of it.

    Parameters
    ----------
    named : list of Named
        The SELECTs named by WITH; all must be read.
    stream : str
        The name of the stream; empty if it is unknown.

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
            title, stream_name = str(source.stream.name), _index_of(source, known)
            read.append(known[stream_name])
            known = known[:stream_name]
        clauses = clauses_of(body)
        source = _source_of(clauses, title)
        selects.append((clauses, title))
    if stream and source.stream.name != stream:
        near = nearest(source.stream.name or "", [stream, *(str(each.name.name) for each in known)])
        fault = f"{source.stream.text} is no stream of the query"
        raise source.stream.error(fault, near or f"{stream}, the stream under streams")
    require_read(named, read)
    rows = SelectedRows(stream, frozenset(fixed), tables=frozenset({stream}))
    for clauses, title in reversed(selects):
        rows = rows.select(clauses, title)
    return rows


def require_read(named: list[Named], read: list[Named]) -> None:
    """Refuse a SELECT named by WITH that the query does not read."""
    for name in (each.name for each in named if each not in read):
        remedy = f"FROM {name.text}, once, in the SELECT below it; or no {name.text}"
        raise name.error(f"{name.text} is not read by what is computed", remedy)


def _body_of(source: Source, known: list[Named]) -> TokenSpan | None:
    """Return the SELECT after FROM, perhaps named by WITH; None for a stream."""
    if source.subquery is not None:
        return source.subquery
    stream_name = _index_of(source, known)
    return known[stream_name].select if stream_name < len(known) else None


def _index_of(source: Source, known: list[Named]) -> int:
    """Return the index of the SELECT with a name; the number of SELECTs if there is none."""
    names = [each.name.name for each in known]
    return names.index(source.stream.name) if source.stream.name in names else len(known)


def _source_of(clauses: Clauses, title: str) -> Source:
    """Return the source of a SELECT that another SELECT reads; refuse groups and windows in it."""
    if clauses.group:
        fault = f"GROUP BY in {title}, which another SELECT reads, as no query has it"
        raise clauses.group[0].error(fault, "columns and WHERE alone; groups in the last SELECT")
    clauses.refuse_having()
    source = source_of(clauses.source)
    if source.windows is not None:
        fault = f"windows in {title}, which another SELECT reads, as no query has them"
        raise clauses.source.error(fault, f"FROM {source.stream.text} here; the windows in the last SELECT")
    return source
