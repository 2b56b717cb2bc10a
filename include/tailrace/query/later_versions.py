"""Refuses streams whose tuples have later versions, of kinds that can't follow these."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.ground.fields import field_error
from tailrace.query.sections import StreamSection
from tailrace.sources.answers_source import AnswersSource


def refuse_later_versions(kind: str, streams: Mapping[str, StreamSection]) -> None:
    """Refuse answers of another query, and lookups that corrections repeat in a newer version of their table.

    Raises
    ------
    PydanticCustomError
    """
    for name, stream in streams.items():
        if isinstance(stream.source, AnswersSource):
            fault = f"a query of kind {kind} can't follow the later versions of another query's answers"
            raise field_error(fault, "a source of another format; or kind aggregate or topk", f"streams.{name}.source")
        for lookup, section in stream.lookup.items():
            if section.corrections == "newest":
                fault = f"corrections of kind {kind} can't follow a newer version of a table"
                remedy = "seen; or kind aggregate or topk"
                raise field_error(fault, remedy, f"streams.{name}.lookup.{lookup}.corrections")
