"""The sample that a calibration by two time scales reads: tuples with their delays, and the winners of windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats, Ints


@dataclass(frozen=True, eq=False)
class Winners:
    """The tuples in the exact answers of windows; m rows, one for each window in which a tuple wins.

    Attributes
    ----------
    row : ndarray, shape (m,)
        The index of the tuple.
    end : ndarray, shape (m,)
        The end of the window, in ms; ascending.
    share : ndarray, shape (m,)
        The accuracy that the window loses without the tuple; they sum to 1 in each window.
    """

    row: Ints
    end: Ints
    share: Floats

    def where(self, mask: NDArray[np.bool_]) -> Winners:
        """Select winners; the mask keeps or drops whole windows."""
        return Winners(self.row[mask], self.end[mask], self.share[mask])


@dataclass(frozen=True, eq=False)
class DelaySample:
    """n tuples with their delays, and the winners among them.

    A window lacks a tuple if it closed before the tuple came. With a wait d, that is so if the tuple's delay is at
    least d plus its age, the time from its event time to the window's end.

    Attributes
    ----------
    event : ndarray, shape (n,)
        Event times, in ms.
    delay : ndarray, shape (n,)
        t_max before the tick in which the tuple came, less its event time, in ms; 0 for a tuple ahead of t_max.
    weight : ndarray, shape (n,)
        The weight of each tuple: in the accuracy of a window all keys count equally.
    winners : Winners
    """

    event: Ints
    delay: Ints
    weight: Floats
    winners: Winners

    @property
    def age(self) -> Ints:
        """The winners' ages at the ends of their windows, in ms; shape (m,)."""
        return self.winners.end - self.event[self.winners.row]


def weights_by_key(key: Ints, block: Ints) -> Floats:
    """Return weights with which all keys of a block of event time count equally, and so do all blocks.

    Parameters
    ----------
    key, block : ndarray, shape (n,)
        Codes; blocks are as long as a window.
    """
    if not len(key):
        return np.zeros(0)
    _, blocks = np.unique(block, return_inverse=True)
    _, cell, counts = np.unique(blocks * (int(key.max()) + 1) + key, return_inverse=True, return_counts=True)
    of_cell = np.zeros(len(counts), np.int64)
    of_cell[cell] = blocks
    keys = np.bincount(of_cell)
    return np.asarray(1 / (counts[cell] * keys[blocks]))


def sums_by_number(number: Ints, value: Floats, count: int = 0) -> Floats:
    """Sum the values of each number, from 0 on; return at least `count` sums."""
    return np.bincount(number, value, count).astype(np.float64, copy=False)
