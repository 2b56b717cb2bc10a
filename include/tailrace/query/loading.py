"""Loads a query file, or SQL text with its streams, as a Query, or refuses it: every problem with its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.locales import NAME_REMEDY, name_fault
from tailrace.query.declared import declared_query
from tailrace.query.in_code import FieldsInCode
from tailrace.query.place_fields import names_place, with_place_fields
from tailrace.query.query import Query
from tailrace.query.refusals import explain
from tailrace.query.sql_form import SQL, SqlText, field_fault, require_streams_file
from tailrace.query.yaml_file import FieldPath, YamlFile, read
from tailrace.sql.fields_outside import OutsideSqlError

if TYPE_CHECKING:
    from tailrace.sql.translate import Translation

_SECTIONS = "streams|window|aggregate|topk|emd_join|spatial_join|disorder|elasticity"
_FIELD = re.compile(rf"(?:stream [^:]+: )?((?:{_SECTIONS})\.[^:]+?|parallelism)(: |\Z)")
_PLACE = re.compile(r"(\d+):(\d+): ")


def load(path: Path, streams: Path | None = None) -> Query:
    """Load the query that a file declares; relative paths in it start at the file's directory.

    Parameters
    ----------
    streams : Path or None
        For SQL text: the YAML file with its streams and the rest of the query file. Relative paths start at its
        directory.

    Raises
    ------
    Refused
        With all problems, in the order of the file.
    """
    return declare(*_read(path, streams))


def parse(path: Path, text: str) -> Query:
    """Return the query that the text of a file declares, as `load` does."""
    tree = YamlFile(path, text)
    return declare(tree, SqlText.among(tree, text))


@contextmanager
def located(path: Path, streams: Path | None = None) -> Iterator[None]:
    """Add file and line to refusals that begin with a field of a query, or with a stream and a field.

    Refusals that begin with the location of a source or table also get its field.

    Parameters
    ----------
    path, streams : Path
        As for `load`.
    """
    try:
        yield
    except Refused as refused:
        problems = refused.problems
        if any(map(names_place, problems)):
            with suppress(Refused):  # the file may have changed since
                problems = with_place_fields(problems, load(path, streams))
        if not any(_FIELD.match(problem.where) for problem in problems):
            raise
        tree, sql = _read(path, streams)
        said = None if sql is None else sql.translate(tree.data)
        raise refused.restated([_located(tree, sql, said, problem) for problem in problems]) from refused


def _located(tree: YamlFile, sql: SqlText | None, translation: Translation | None, problem: Problem) -> Problem:
    field = _FIELD.match(problem.where)
    if field is None:
        return problem
    positions = {} if translation is None else translation.positions
    said, named = _nearest(field[1], positions), _nearest(field[1], tree.lines)
    if sql is not None and translation is not None and len(said) > len(named):
        at = _PLACE.match(problem.where, field.end())
        position = positions[said] if at is None else translation.position_in(said, Position(int(at[1]), int(at[2])))
        where = f"{sql.place(position)[1]}: {problem.where}"
    else:
        where = f"{tree.file}:{tree.lines[named]}: {problem.where}" if named else f"{tree.file}: {problem.where}"
    return replace(problem, where=where)


def _nearest(field: str, paths: Iterable[FieldPath]) -> FieldPath:
    """Return the path of a field, or of the nearest section above it."""
    above = [path for path in paths if f"{field}.".startswith(f"{'.'.join(path)}.")]
    return max(above, key=len, default=())


def _read(path: Path, streams: Path | None) -> tuple[YamlFile, SqlText | None]:
    """Read the fields of a query file, and its SQL text, if any."""
    for file in (path, streams):
        if file is not None and (fault := name_fault(file.absolute())) is not None:  # tables store its sources' paths
            raise refuse(ascii(str(file)), fault, NAME_REMEDY)
    require_streams_file(path, streams)
    if streams is None:
        text = read(path)
        tree = YamlFile(path, text)
        return tree, SqlText.among(tree, text)
    sql, tree = SqlText(read(path), path), YamlFile(streams, read(streams))
    if SQL in tree.data:
        tree.add((SQL,), f"stands beside {path}, which has the SQL text", f"no {SQL} here, or {streams} alone")
        tree.refuse()
    tree.data.setdefault("name", path.stem)
    return tree, sql


def declare(tree: YamlFile | FieldsInCode, sql: SqlText | None = None) -> Query:
    """Return the query of fields in a file or in code, with SQL text, if any.

    Raises
    ------
    Refused
        With all problems.
    """
    fields, translation = tree.data, None
    try:
        if sql is not None:
            translation = sql.translate(fields)
            fields = translation.fields
        query = declared_query(fields, tree.directory)
    except ExpressionError as error:
        assert sql is not None
        tree.problems.append(sql.problem(error.position, error.fault, error.remedy))
    except OutsideSqlError as error:
        tree.add(error.path, error.fault, error.remedy)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            path, fault, remedy = explain(details, fields)
            position = None if translation is None else translation.position_of(path)
            if sql is None or position is None:
                tree.add(path, fault, remedy)
            else:
                remedy = details.get("ctx", {}).get("in_sql") or remedy
                tree.problems.append(sql.problem(position, field_fault(path, fault), remedy))
    tree.refuse()
    return query
