"""Loads a query file as a Query, or refuses it and names every problem with its line."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

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
    tree = YamlFile(path, read(path))
    try:
        query = declared_query(tree.data, path.parent)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            tree.add(*explain(details, tree.data))
    tree.refuse()
    return query
