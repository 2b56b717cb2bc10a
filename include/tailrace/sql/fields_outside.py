"""The fields of a query file that accompany SQL text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SETTINGS = {"window": "timezone", "topk": "method"}
"""The fields of sections that SQL can't express, so that they accompany the text."""


class OutsideSqlError(ValueError):
    """Raised for a field that repeats a part of the SQL text; has its path, the fault, and the remedy."""

    def __init__(self, path: tuple[str, ...], fault: str, remedy: str) -> None:
        self.path, self.fault, self.remedy = path, fault, remedy
        super().__init__(f"{'.'.join(path)}: {fault}; right would be: {remedy}")


@dataclass(frozen=True)
class FieldsOutsideSql:
    """The fields that accompany SQL text; the models of the sections check their values.

    Attributes
    ----------
    stream : str
        The name of the only stream; empty if there is none, or several.
    declaration : dict
        The fields of the stream.
    """

    fields: Mapping[str, Any]
    stream: str
    declaration: Mapping[str, Any]

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> FieldsOutsideSql:
        """Read the fields.

        Raises
        ------
        OutsideSqlError
        """
        for name in ("aggregate", "emd_join", "spatial_join"):
            if name in fields:
                raise OutsideSqlError(
                    (name,), f"{name} stands beside sql, which says what is computed", f"sql, or {name}"
                )
        for name, own in SETTINGS.items():
            section = fields.get(name, {})
            if not isinstance(section, Mapping) or set(section) - {own}:
                raise OutsideSqlError((name,), f"sql says the {name}", f"{name}: {{{own}: …}} alone, or no {name}")
        streams = fields.get("streams")
        is_known = isinstance(streams, Mapping) and len(streams) == 1
        stream, declaration = next(iter(streams.items())) if is_known and streams else ("", {})
        if not isinstance(declaration, Mapping):
            return FieldsOutsideSql(fields, "", {})
        for name in ("key", "where"):
            if name in declaration:
                remedy = f"no {name} beside sql, or sections in place of sql"
                raise OutsideSqlError(("streams", stream, name), f"sql says {name} already", remedy)
        return FieldsOutsideSql(fields, stream, declaration)

    @property
    def is_known(self) -> bool:
        """Whether there is one stream."""
        return self.stream != ""

    @property
    def event_time(self) -> str | None:
        """The column of event time; None if it is not declared correctly."""
        return self._column("event_time")

    @property
    def id(self) -> str | None:
        """The column of ids; None without one."""
        return self._column("id")

    @property
    def window(self) -> Mapping[str, Any]:
        """The section `window`."""
        section: Mapping[str, Any] = self.fields.get("window", {})
        return section

    @property
    def names(self) -> frozenset[str]:
        """The names that columns derived by SQL can't take."""
        own = (self._column(name) for name in ("event_time", "arrival_time", "id"))
        derived = self.declaration.get("columns")
        return frozenset(filter(None, own)) | frozenset(derived if isinstance(derived, Mapping) else ())

    def joined(self, said: dict[str, Any], stream: dict[str, Any], columns: dict[str, str]) -> dict[str, Any]:
        """Combine these fields and the SQL text's to the whole declaration.

        Parameters
        ----------
        said : dict
            The kind, the window, and the kind's section, from the SQL text.
        stream : dict
            Fields of the stream from the SQL text.
        columns : dict
            Columns that the SQL text derives.

        Raises
        ------
        OutsideSqlError
        """
        kind = said["kind"]
        if self.fields.get("kind", kind) != kind:
            raise OutsideSqlError(("kind",), f"sql is a query of kind {kind}", f"kind: {kind}, or no kind")
        if "topk" in self.fields and kind != "topk":
            raise OutsideSqlError(("topk",), f"sql is a query of kind {kind}", "no topk")
        for name in SETTINGS:
            if name in self.fields:
                said[name] = said[name] | self.fields[name]
        fields = {**self.fields, **said}
        if self.is_known:
            own = self.declaration.get("columns")
            if columns and (own is None or isinstance(own, Mapping)):
                stream["columns"] = {**(own or {}), **columns}
            fields["streams"] = {self.stream: {**self.declaration, **stream}}
        return fields

    def _column(self, name: str) -> str | None:
        column = self.declaration.get(name)
        return column if isinstance(column, str) else None
