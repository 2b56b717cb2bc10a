"""Pairs of pieces of edges, halved until they are straight in space, and the nearest points of straight pieces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.ground.columns import Floats, Ints
from tailrace.spatial_join.geometries import Mask

_PARALLEL = 1e-12  # of the squared sine of the angle: below it, parallel lines are nearest at an end


class Piece(NamedTuple):
    """A column of pieces of edges, each by the shares 0…1 of its edge at which it begins and ends; shapes (k,)."""

    edge: Ints
    low: Floats
    high: Floats

    def take(self, rows: Ints | Mask) -> Piece:
        """Select rows by index or mask."""
        return Piece(self.edge[rows], self.low[rows], self.high[rows])

    def point(self, share: Floats) -> tuple[Ints, Floats]:
        """Return the edge, and the share of it, of points at shares 0…1 of the pieces."""
        return self.edge, self.low + share * (self.high - self.low)

    def halves(self, rows: Mask) -> Piece:
        """Return all pieces twice, with masked ones replaced by their two halves."""
        middle = (self.low + self.high) / 2
        low, high = np.where(rows, middle, self.low), np.where(rows, middle, self.high)
        return Piece(np.tile(self.edge, 2), np.concatenate([self.low, low]), np.concatenate([high, self.high]))

    @staticmethod
    def whole(edge: Ints) -> Piece:
        return Piece(edge, np.zeros(len(edge)), np.ones(len(edge)))


def halve(pair: Ints, one: Piece, two: Piece, first: Mask) -> tuple[Ints, Piece, Piece]:
    """Halve one piece of each pair: `one` where the mask is set, else `two`."""
    return np.tile(pair, 2), one.halves(first), two.halves(~first)


def nearest_shares(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the nearest points of straight lines in space from a to b and from c to d, of shape (3, k).

    They are on the common perpendicular, or else one is an end of a line: the nearest of the five cases.

    Returns
    -------
    one, two : ndarray, shape (k,)
        The shares 0…1 of the lines at which the points lie.
    distance : ndarray, shape (k,)
    """
    along, across, between = b - a, d - c, a - c
    aa, cc, ac = _dot(along, along), _dot(across, across), _dot(along, across)
    ab, cb = _dot(along, between), _dot(across, between)
    slant = aa * cc - ac * ac
    inner = np.clip(_share(ac * cb - ab * cc, np.where(slant > _PARALLEL * aa * cc, slant, 0)), 0, 1)
    zero, one = np.zeros(len(aa)), np.ones(len(aa))
    shares = np.stack([inner, zero, one, np.clip(_share(-ab, aa), 0, 1), np.clip(_share(ac - ab, aa), 0, 1)])
    others = np.stack([*np.clip(_share(ac * shares[:3] + cb, cc), 0, 1), zero, one])
    squares = np.zeros_like(shares)
    for start, first, second in zip(between, along, across, strict=True):
        squares += (start + shares * first - others * second) ** 2
    best, column = squares.argmin(axis=0), np.arange(len(aa))
    return shares[best, column], others[best, column], np.sqrt(squares[best, column])


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ik,ik->k", a, b))


def _share(length: Floats, whole: Floats) -> Floats:
    """Return the share of a whole; 0 where the whole is 0."""
    return np.asarray(
        np.divide(length, whole, out=np.zeros(np.broadcast_shapes(length.shape, whole.shape)), where=whole > 0)
    )
