"""Translates between the two forms of a query: SQL text, and sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.expressions.errors import Position
from tailrace.expressions.expression import require_libraries
from tailrace.ground.errors import Problem, refuse
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery, TopKQuery
from tailrace.query.yaml_file import MAX_MESSAGE, FieldPath, YamlFile
from tailrace.topk.section import TopKSection

if TYPE_CHECKING:
    from tailrace.sql.translate import Translation
    from tailrace.sql.write import Written

SQL = "sql"
"""The field of a query file with SQL text."""

KINDS = ("aggregate", "topk")
"""The kinds of queries that SQL text can express."""

_METHOD = TopKSection.model_fields["method"].default
_REMEDY = "sql: SELECT …, or sections: kind, window and aggregate"


@dataclass(frozen=True)
class SqlText:
    """SQL text of a query, and its place in a file.

    Attributes
    ----------
    file : Path
        The SQL file, or the query file that holds the text.
    line : int or None
        The line of the field in a query file; None for a separate SQL file.
    is_block : bool
        Whether each line of the text is a line of the query file, below the field.
    """

    text: str
    file: Path
    line: int | None = None
    is_block: bool = False

    @staticmethod
    def among(tree: YamlFile, text: str) -> SqlText | None:
        """Remove the SQL text from the fields of a query file, and return it; None if there is none."""
        if SQL not in tree.data:
            return None
        sql, line = tree.data.pop(SQL), tree.lines[SQL,]
        if not isinstance(sql, str) or not sql.strip():
            tree.add((SQL,), "has no text" if not sql else "is no text", _REMEDY)
            tree.refuse()
        below = text.split("\n")[line : line + 1]
        return SqlText(sql, tree.file, line, [part.strip() for part in below] == [sql.split("\n")[0].strip()])

    def translate(self, fields: Mapping[str, Any]) -> Translation:
        """Translate the text to sections, and add them to the fields of the file."""
        require_libraries()
        from tailrace.sql.translate import translate  # loads a grammar that other queries do not need

        return translate(self.text, fields)

    def place(self, position: Position) -> tuple[int, str]:
        """Return the line of a position in the file, and the position in words."""
        if self.line is None:
            return position.line, f"{self.file}:{position}"
        line = self.line + (position.line if self.is_block else 0)
        return line, f"{self.file}:{line}: sql, at {position}"

    def problem(self, position: Position, fault: str, remedy: str) -> tuple[int, Problem]:
        """Return a problem at a position of the text, and the line of its file."""
        line, where = self.place(position)
        return line, Problem(where, fault[:MAX_MESSAGE], remedy[:MAX_MESSAGE])


def field_fault(path: FieldPath, fault: str) -> str:
    """Return a fault with the path of its field, without list indices, as the position in the text shows the item."""
    return f"{'.'.join(part for part in path if not part.isdecimal())}: {fault}"


def sections_of(query: Query) -> dict[str, Any] | None:
    """Return the sections that SQL text can express, as plain data; None for a kind without an SQL form."""
    if not isinstance(query, AggregateQuery | TopKQuery):
        return None
    name, _ = query.stream
    declared = query.model_dump(mode="json")
    stream = _set(declared["streams"][name], ("event_time", "id", "columns", "where", "key", "null_key"))
    window = _set(declared["window"], ("size", "slide", "offset", "timezone", "session"))
    if window.get("slide") == window.get("size"):
        window.pop("slide", None)
    section = _without_defaults(declared[query.kind])
    if section.get("method") == _METHOD:
        del section["method"]
    return {"kind": query.kind, "streams": {name: stream}, "window": window, query.kind: section}


def sql_of(query: Query) -> Written | None:
    """Return the SQL text of a query, and the remaining sections; None if it has no SQL form."""
    sections = sections_of(query)
    if sections is None:
        return None
    from tailrace.sql.write import write

    return write(sections)


def _set(section: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: section[name] for name in names if section.get(name)}


def _without_defaults(section: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_defaults(value) if isinstance(value, Mapping) else value
        for name, value in section.items()
        if value is not None and value is not False and value != []
    }


def require_streams_file(path: Path, streams: Path | None) -> None:
    """Refuse SQL text without the file of its streams, and a query file with such a file.

    Raises
    ------
    Refused
    """
    if is_sql(path) and streams is None:
        remedy = "--streams STREAMS.yaml (streams: and all else of a query file), or the text in a query file: sql: |"
        raise refuse(str(path), "SQL text alone does not say what its streams are", remedy)
    if not is_sql(path) and streams is not None:
        raise refuse(
            f"--streams {streams}", f"{path} is no SQL text, and has its streams", "no --streams, or a file QUERY.sql"
        )


def is_sql(path: Path) -> bool:
    """Test by its name whether a file has SQL text."""
    return path.suffix.lower() == ".sql"
