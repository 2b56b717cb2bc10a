"""The size of the next batch, learned from earlier batches."""

from __future__ import annotations

from tailrace.kind.protocol import Enrichment, Kind
from tailrace.stream.run_options import BATCH_ROWS, RunOptions

_FIRST_JOIN_ROWS = 4_000
"""The number of rows of a join's first batch, and of any batch with too many answers."""


class BatchSize:
    """Limits the rows of a batch, and learns from each batch.

    Attributes
    ----------
    rows : int
        The approximate number of rows that the next batch may have.
    """

    def __init__(self, kind: Kind, options: RunOptions) -> None:
        """Start with the options' limits for a kind."""
        weight, is_join = kind.row_weight, len(kind.inputs) > 1
        self._answers, self._partials = options.batch_answers, max(options.batch_answers // weight, 1)
        self._most = min(options.batch_rows, BATCH_ROWS // weight)
        # A join may give many answers per row.
        self._least = min(_FIRST_JOIN_ROWS, self._partials) if is_join else self._partials
        self._gathers_answers = not isinstance(kind, Enrichment)  # without tasks the readers write the answers
        self.rows = min(self._least, self._most)

    def observe(self, rows: int, partials: int, answers: int) -> None:
        """Observe the numbers of rows, partials and answers of a batch."""
        if rows:
            enough = self._partials * rows // max(partials, 1)
            if self._gathers_answers:
                enough = min(enough, self._answers * rows // max(answers, 1))
            self.rows = min(max(enough, self._least), 2 * self.rows, self._most)
