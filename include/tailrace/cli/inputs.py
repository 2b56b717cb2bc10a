"""The option --input, which replaces the source of a query's stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.source_roots import outside_roots

if TYPE_CHECKING:
    from tailrace.query.query import Query


def with_inputs(query: Query, inputs: list[str]) -> Query:
    """Return a query whose streams are read as given by STREAM=PATH; wrong values are refused."""
    for assignment in inputs:
        name, _, path = assignment.partition("=")
        if name not in query.streams or not path:
            raise refuse(f"--input {assignment}", "it names no stream of the query", f"{'|'.join(query.streams)}=PATH")
        if is_url(path):
            raise refuse(f"--input {assignment}", "it is a URL", f"a file or a directory: {name}=PATH")
        if (problem := outside_roots(Path(path).absolute())) is not None:
            raise Refused([problem])
        stream = query.streams[name]
        if (source := stream.source.at(Path(path).absolute())) is None:
            raise refuse(f"--input {assignment}", "the stream reads a topic, and no path", "no --input for it")
        streams = query.streams | {name: stream.model_copy(update={"source": source})}
        query = query.model_copy(update={"streams": streams})
    return query
