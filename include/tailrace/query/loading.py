"""Loads a query file, or SQL text with its streams, as a Query, or refuses it: every problem with its line."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tailrace.expressions.errors import ExpressionError
from tailrace.ground.errors import refuse
from tailrace.ground.locales import NAME_REMEDY, name_fault
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.query.refusals import explain
from tailrace.query.sql_form import SQL, SqlText, field_fault, require_streams_file
from tailrace.query.yaml_file import YamlFile, read
from tailrace.sql.beside import BesideError
from tailrace.sql.translate import translate


def load(path: Path, streams: Path | None = None) -> Query:
    """Load the query that a file declares; relative paths in it start at the file's directory.

    Parameters
    ----------
    streams : Path or None
        Of SQL text: the YAML file with its streams and all else that a query file has. Its paths start there.

    Raises
    ------
    Refused
        With all problems, in the order of the file.
    """
    for file in (path, streams):
        if file is not None and (fault := name_fault(file.absolute())) is not None:  # tables hold its sources' paths
            raise refuse(ascii(str(file)), fault, NAME_REMEDY)
    require_streams_file(path, streams)
    if streams is None:
        return parse(path, read(path))
    sql, tree = SqlText(read(path), path), YamlFile(streams, read(streams))
    if SQL in tree.data:
        tree.add((SQL,), f"stands beside {path}, which has the SQL text", f"no {SQL} here, or {streams} alone")
        tree.refuse()
    tree.data.setdefault("name", path.stem)
    return _declare(tree, sql)


def parse(path: Path, text: str) -> Query:
    """Return the query that the text of a file declares, as `load` does."""
    tree = YamlFile(path, text)
    return _declare(tree, SqlText.among(tree, text))


def _declare(tree: YamlFile, sql: SqlText | None) -> Query:
    """Return the query of a file's fields, and of SQL text if there is some."""
    fields, translation = tree.data, None
    try:
        if sql is not None:
            translation = translate(sql.text, fields)
            fields = translation.fields
        query = declared_query(fields, tree.file.parent)
    except ExpressionError as error:
        assert sql is not None
        tree.problems.append(sql.problem(error.position, error.fault, error.remedy))
    except BesideError as error:
        tree.add(error.path, error.fault, error.remedy)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            path, fault, remedy = explain(details, fields)
            position = None if translation is None else translation.position_of(path)
            if sql is None or position is None:
                tree.add(path, fault, remedy)
            else:
                tree.problems.append(sql.problem(position, field_fault(path, fault), remedy))
    tree.refuse()
    return query
