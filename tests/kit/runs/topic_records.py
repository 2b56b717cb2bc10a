"""The records of a topic of answers, and what its consumers show."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Record(NamedTuple):
    """A record, as a consumer gets it; `version` and `query` are of its headers."""

    key: str
    value: dict[str, Any] | None
    version: tuple[int, int]
    query: str = ""

    @staticmethod
    def of(key: bytes, value: bytes | None, headers: Iterable[tuple[str, bytes]]) -> Record:
        content, by_name = None if value is None else json.loads(value), dict(headers)
        version = int(by_name["generation"]), int(by_name["as_of"])
        return Record(key.decode(), content, version, by_name["query"].decode())


@dataclass
class TopicRecords:
    """The records of a topic so far, in an order that keeps those of each key in theirs."""

    records: list[Record] = field(default_factory=list)

    def newest(self) -> dict[str, Record]:
        """The records of a consumer that keeps the greatest version of each key, of equal ones the later."""
        newest = dict[str, Record]()
        for record in self.records:
            if record.key not in newest or record.version >= newest[record.key].version:
                newest[record.key] = record
        return newest

    def shown(self) -> list[dict[str, Any]]:
        """The rows that such a consumer shows."""
        return [record.value for record in self.newest().values() if record.value is not None]

    def compacted(self) -> list[dict[str, Any]]:
        """The rows of a consumer that takes the last record of each key."""
        return [value for value in {record.key: record.value for record in self.records}.values() if value is not None]

    def require_no_older_version(self, is_restored: bool = False) -> None:
        """Check that no record is older than an earlier one of its key.

        Parameters
        ----------
        is_restored : bool
            Whether a backup was restored. Its stream sends records of generation 0 until all answers are sent again:
            they are older than those before them, and in the same order among themselves.
        """
        newest = dict[tuple[str, bool], tuple[int, int]]()
        for record in self.records:
            is_ungenerated = is_restored and record.version[0] == 0
            if not is_ungenerated:
                newest.pop((record.key, True), None)  # another backup may be restored after it
            assert record.version >= newest.get((record.key, is_ungenerated), (0, 0)), record
            newest[record.key, is_ungenerated] = record.version
