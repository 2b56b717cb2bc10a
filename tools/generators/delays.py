"""Seeded delay models, which draw the time from a tuple's event time to its arrival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tailrace.ground.arrow.times import INT96_UNIT
from tailrace.ground.duration import ms, parse_duration
from tailrace.ground.files.regular_files import require_regular_files


class DelayModel(Protocol):
    """Protocol of a delay model, which draws delays of at least 0."""

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `n` independent delays in milliseconds, shape (n,); deterministic for a given state of `rng`."""
        ...


@dataclass(frozen=True)
class NoDelay:
    """No delays: every tuple arrives at its event time."""

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)


@dataclass(frozen=True)
class SometimesLognormal:
    """Delays of 0 with probability 1 - p, else lognormal, as in paper 002 (Table 1, in errata.md).

    The mean before flooring is p · exp(mu + sigma² / 2) seconds. The tail is not clipped: the paper's greatest delays
    of 14 to 17 s are what some half a million draws give, and more draws give longer ones.

    Delays are floored to milliseconds, as the contract floors finer times. So a delay of 0 is either no delay
    (1 - p) or one of less than 1 ms, and the share of zeros is (1 - p) + p · Φ((ln 0.001 - mu) / sigma): .4344
    instead of .4242 for Game 1, .3338 instead of .3318 for Game 2.

    Attributes
    ----------
    p : float
        Share of tuples that are delayed at all.
    mu, sigma : float
        Mean and standard deviation of ln(delay in seconds) of delayed tuples.
    """

    p: float
    mu: float
    sigma: float

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        is_delayed = rng.random(n) < self.p
        return _floor(np.where(is_delayed, 1000 * rng.lognormal(self.mu, self.sigma, n), 0))


@dataclass(frozen=True)
class Exponential:
    """Exponential delays, as in paper 001 and in the formula for hit(K) of errata.md.

    Floored to milliseconds, which takes 0.5 ms from the mean.

    Attributes
    ----------
    mean_ms : int
        The mean τ in milliseconds, greater than 0.
    """

    mean_ms: int

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return _floor(rng.exponential(self.mean_ms, n))


@dataclass(frozen=True, eq=False)
class Empirical:
    """Delays drawn with replacement from measured delays.

    Attributes
    ----------
    delays_ms : ndarray of int64, shape (m,), m ≥ 1
        The measured delays, each at least 0.
    """

    delays_ms: NDArray[np.int64] = field(repr=False)

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.choice(self.delays_ms, n)


def delay_model(text: str) -> DelayModel:
    """Return the delay model that a text names.

    Models are `game1`, `game2`, `exponential:6 s`, `data:FILE:EVENT:ARRIVAL` and `none`.

    Raises
    ------
    ValueError
        When there is no such model, or its argument is wrong; the message contains the remedy.
    """
    name, _, argument = (part.strip() for part in text.partition(":"))
    if name not in MODELS:
        usages = ", ".join(entry.usage for entry in MODELS.values())
        raise ValueError(f"{text!r} names no delay model; write one of: {usages}")
    entry = MODELS[name]
    try:
        return entry.build(argument)
    except ValueError as error:
        raise ValueError(f"{text!r} is no delay model: {error}; write {entry.usage}") from error


def epoch_ms(column: pa.ChunkedArray[Any]) -> NDArray[np.int64]:
    """Return epoch milliseconds of a column of timestamps (finer ones floored) or of epoch milliseconds.

    Raises
    ------
    ValueError
        When the column is of another type, or a value is null.
    """
    if column.null_count:
        raise ValueError(f"{column.null_count} of {len(column)} times are null")
    if pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.int64()), dtype=np.int64)
    if pa.types.is_timestamp(column.type):
        return np.asarray(column).astype("datetime64[ms]").astype(np.int64)
    raise ValueError(f"a column of {column.type} holds no times; right is a timestamp, or a long in epoch milliseconds")


def _floor(delays: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.floor(delays).astype(np.int64)


def _without_argument(model: DelayModel) -> Callable[[str], DelayModel]:
    def build(argument: str) -> DelayModel:
        if argument:
            raise ValueError(f"it takes no argument, and {argument!r} was given")
        return model

    return build


def _exponential(argument: str) -> DelayModel:
    mean_ms = ms(parse_duration(argument))
    if mean_ms <= 0:
        raise ValueError("its mean must be longer than 0 ms")
    return Exponential(mean_ms)


def _from_data(argument: str) -> DelayModel:
    # From the right, since a path may contain colons and a column hardly does.
    rest, _, arrival_column = argument.rpartition(":")
    path, _, event_column = rest.rpartition(":")
    if not path:
        raise ValueError("it takes a Parquet file or a directory of them, and two of its columns")
    if not Path(path).exists():
        raise ValueError(f"there is no file {path}")
    require_regular_files(Path(path))
    columns = [event_column, arrival_column]
    names = pq.ParquetDataset(path).schema.names
    missing = [column for column in columns if column not in names]
    if missing:
        raise ValueError(f"{path} has no column {' and no column '.join(missing)}, it has {', '.join(names)}")
    times = pq.read_table(path, columns=columns, coerce_int96_timestamp_unit=INT96_UNIT).drop_null()
    if not times.num_rows:
        raise ValueError(f"{path} holds no row in which both times are known")
    event, arrival = (epoch_ms(times.column(column)) for column in columns)
    # A tuple that arrives before its event time (an early flight) has a delay of 0.
    return Empirical(np.maximum(arrival - event, 0))


class _Entry(NamedTuple):
    usage: str
    build: Callable[[str], DelayModel]


MODELS = {
    "none": _Entry("none", _without_argument(NoDelay())),
    "game1": _Entry("game1", _without_argument(SometimesLognormal(p=0.5758, mu=-3.876, sigma=1.447))),
    "game2": _Entry("game2", _without_argument(SometimesLognormal(p=0.6682, mu=-3.237, sigma=1.335))),
    "exponential": _Entry("exponential:MEAN, such as exponential:6 s", _exponential),
    "data": _Entry("data:FILE:EVENT:ARRIVAL, such as data:flights.parquet:scheduled:actual", _from_data),
}
"""The delay models by name. To add one, add a class above and a line here."""
