"""The replay of a journal in a rebuild: merges entries into one batch if no answer depends on the cut between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import Facts, tables_in_force
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
        """Return the number of entries after the batch that follows the first `entries` ones."""
        return next(end for end in self.ends if end > entries)


def replay_of(
    entries: Iterable[BatchRecord], work: Mapping[int, int], most_rows: int, most_work: int, merges_until: int
) -> Replay:
    """Return the replay of entries from the first one on.

    Parameters
    ----------
    work : mapping
        The number of partials and answers of each entry, by its number, as far as known.
    most_rows, most_work : int
        The most rows and work of a batch; a single entry may have more.
    merges_until : int
        The number of entries that may be merged, because every table already has them.
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
    """Merge the entries of a replayed batch into one entry, with the number of the last one."""
    header = entries[0].header
    for entry in entries[1:]:
        header = _merge(header, entry)
    return BatchRecord(header, tuple(segment for entry in entries for segment in entry.segments), entries[-1].position)


def _follows(before: BatchHeader, entry: BatchRecord) -> bool:
    """Test whether an entry's rows can be processed together with the batch before them.

    Silence acts between two batches: windows close, ticks no longer wait for an idle stream, and rows after a heartbeat
    count as later than it. So entries that record silence are run separately.
    """
    if before.closes or before.idle_ms != entry.header.idle_ms:
        return False
    if before.heartbeats or before.idle or entry.header.heartbeats or entry.header.idle:
        return False
    before_tables, tables = tables_in_force(before.facts), tables_in_force(entry.header.facts)
    return all(tables.get(subject) == fact for subject, fact in before_tables.items())


def _merge(before: BatchHeader, entry: BatchRecord) -> BatchHeader:
    """Return the header of a batch with one more entry than the header `before`."""
    return replace(entry.header, facts=_united(before.facts, entry.header.facts))


def _united(before: Facts, facts: Facts) -> Facts:
    """Return the facts of both batches, as the second one may have dropped facts about ticks of the first."""
    known = {(fact.about, fact.version) for fact in before}
    return before + tuple(fact for fact in facts if (fact.about, fact.version) not in known)
