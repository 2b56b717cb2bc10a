"""A table of progress that grows line by line, with its heads once, and the columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len

_GAP = "  "


class ProgressTable:
    """Formats lines of texts below their heads, right-aligned.

    Parameters
    ----------
    widths : dict
        The width of each column by its head. A wider text shifts the columns after it.
    width : int
        The width of the terminal. A column that does not fit is left out; later ones may still fit.
    """

    def __init__(self, widths: Mapping[str, int], width: int) -> None:
        self._widths = dict[str, int]()
        for head, least in widths.items():
            wanted = {**self._widths, head: max(least, cell_len(head))}
            if sum(wanted.values()) + len(_GAP) * (len(wanted) - 1) <= width:
                self._widths = wanted
        self._has_heads = False

    def lines(self, texts: Mapping[str, str]) -> list[str]:
        """Return the next line, given its texts by head, and before the first one the heads."""
        heads = [] if self._has_heads else [self._line({head: head for head in self._widths})]
        self._has_heads = True
        return [*heads, self._line(texts)]

    def _line(self, texts: Mapping[str, str]) -> str:
        return _GAP.join(
            " " * (width - cell_len(texts[head])) + texts[head] for head, width in self._widths.items()
        ).rstrip()
