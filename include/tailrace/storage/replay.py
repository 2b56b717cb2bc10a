"""The replay of a journal in a rebuild: many of its entries in one batch, where no answer depends on that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import Facts, newest
from tailrace.storage.journal import BatchRecord


@dataclass(frozen=True)
class Replay:
    """The number of entries up to the end of each replayed batch of a journal, ascending."""

    ends: tuple[int, ...] = ()

    @property
    def entries(self) -> int:
        """The number of entries in all batches."""
        return self.ends[-1] if self.ends else 0

    def end(self, entries: int) -> int:
        """Return the number of entries after the batch that follows so many."""
        return next(end for end in self.ends if end > entries)


def replay_of(
    entries: Iterable[BatchRecord], work: Mapping[int, int], most_rows: int, most_work: int, merges_until: int
) -> Replay:
    """Return the replay of entries from the first one on.

    Parameters
    ----------
    work : mapping
        The number of partials and answers of each entry, by its number, as far as it is known.
    most_rows, most_work : int
        A batch has no more rows and work than these, unless they are of one entry.
    merges_until : int
        The number of entries that may be merged: every table has them already.
    """
    ends: list[int] = []
    header, rows, done = None, 0, 0
    for entry in entries:
        number = entry.header.batch
        mine, effort = sum(segment.rows for segment in entry.segments), work.get(number, 0)
        fits = rows + mine <= most_rows and done + effort <= most_work and number < merges_until
        if header is not None and fits and _follows(header, entry):
            ends[-1], rows, done = number + 1, rows + mine, done + effort
            header = _merge(header, entry)
        else:
            ends.append(number + 1)
            header, rows, done = entry.header, mine, effort
    return Replay(tuple(ends))


def merged(entries: Sequence[BatchRecord]) -> BatchRecord:
    """Entries of one batch of a replay as one entry, under the number of the last one."""
    header = entries[0].header
    for entry in entries[1:]:
        header = _merge(header, entry)
    return BatchRecord(header, tuple(segment for entry in entries for segment in entry.segments), entries[-1].position)


def _follows(before: BatchHeader, entry: BatchRecord) -> bool:
    """Test whether an entry's rows find the same after the batch before them as together with it.

    Silence acts between two batches: windows close, ticks wait for an idle stream no longer, and rows that come after a
    heartbeat count as later than it. So entries that record any are run by themselves.
    """
    if before.closes or before.idle_ms != entry.header.idle_ms:
        return False
    if before.heartbeats or before.idle or entry.header.heartbeats or entry.header.idle:
        return False
    return newest(before.facts, "table") in (None, newest(entry.header.facts, "table"))


def _merge(before: BatchHeader, entry: BatchRecord) -> BatchHeader:
    """Return the header of a batch that has one entry more than the header `before`."""
    return replace(entry.header, facts=_united(before.facts, entry.header.facts))


def _united(before: Facts, facts: Facts) -> Facts:
    """Return all facts that either batch knows: the second one may have forgotten what holds for ticks of the first."""
    known = {(fact.about, fact.version) for fact in before}
    return before + tuple(fact for fact in facts if (fact.about, fact.version) not in known)
