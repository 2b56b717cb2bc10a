"""Loads a query file as a Query, or refuses it and names every problem with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.locales import NAME_REMEDY, name_fault
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.query.refusals import explain
from tailrace.query.yaml_file import FieldPath, YamlFile, read

_FIELD = re.compile(r"(streams\.[^:]+?)(: |\Z)")


def load(path: Path) -> Query:
    """Load the query that a file declares; relative paths in it start at the file's directory.

    Raises
    ------
    Refused
        With all problems, in the order of the file.
    """
    if (fault := name_fault(path.absolute())) is not None:  # tables hold the paths of its sources
        raise refuse(ascii(str(path)), fault, NAME_REMEDY)
    return parse(path, read(path))


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Add the file and the line to refusals that name a field of a query alone, as those of its expressions do."""
    try:
        yield
    except Refused as refused:
        if not any(_FIELD.match(problem.where) for problem in refused.problems):
            raise
        lines = YamlFile(path, read(path)).lines
        problems = [replace(problem, where=_located(path, lines, problem.where)) for problem in refused.problems]
        raise type(refused)(problems) from refused


def _located(path: Path, lines: Mapping[FieldPath, int], where: str) -> str:
    field = _FIELD.match(where)
    if field is None:
        return where
    named = [name for name in lines if ".".join(name) == field[1]]
    return f"{path}:{lines[named[0]]}: {where}" if named else f"{path}: {where}"


def parse(path: Path, text: str) -> Query:
    """Return the query that the text of a file declares, as `load` does."""
    tree = YamlFile(path, text)
    try:
        query = declared_query(tree.data, path.parent)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            tree.add(*explain(details, tree.data))
    tree.refuse()
    return query
