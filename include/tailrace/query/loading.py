"""Loads a query file as a Query, or refuses it and names every problem with its line."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tailrace.ground.errors import refuse
from tailrace.ground.locales import NAME_REMEDY, name_fault
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.query.refusals import explain
from tailrace.query.yaml_file import YamlFile, read


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
