"""The optional queries of the demonstration, behind their flags, and the streams generated for them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import yaml

from demo.living_stream import LIVING, PAYMENTS
from generators.delays import delay_model
from generators.fixes import SCHEMA
from generators.frame_histograms import darken
from generators.histogram_stream import as_stream
from generators.replay import START_MS, disorder, generate, write
from generators.sample_clips import read_clip
from generators.taxis import taxis
from tailrace.query.loading import load

_SEED = 2
_DIRECTORY = Path(__file__).parent
_NAMES = ("copies", "delays", "districts", "game2", "meetings", "meters", "trades")
COPIES, DELAYS, DISTRICTS, GAME2, MEETINGS, METERS, TRADES = (_DIRECTORY / f"{name}.yaml" for name in _NAMES)


class Made(Protocol):
    """The streams of a query, generated from a fixed seed, in `files` files each."""

    @property
    def files(self) -> int: ...

    def tables(self, names: list[str]) -> list[pa.Table]:
        """Return the stream of each of these names, in order of arrival."""
        ...


class Readings(NamedTuple):
    """The parameters of one generated stream of readings.

    `rate` is in tuples per second, `keys` is a number of keys, `delays` names a delay model, and `key` and `value` are
    the names of the generated columns `sensor` and `value`.
    """

    rows: int
    rate: int
    keys: int
    delays: str
    key: str
    value: str
    files: int

    def tables(self, names: list[str]) -> list[pa.Table]:
        readings = generate(self.rows, self.rate, self.keys, delay_model(self.delays), _SEED)
        return [readings.rename_columns({"sensor": self.key, "value": self.value}) for _ in names]


class Films(NamedTuple):
    """The parameters of two films: a clip there and back, and a copy, darker by `levels` and shown `shift_ms` later.

    `rows` is the number of frames of each, `rate` is in frames per second, and `delays` names the copy's delay model.
    """

    rows: int
    rate: int
    clip: str
    levels: int
    shift_ms: int
    delays: str
    files: int

    def tables(self, names: list[str]) -> list[pa.Table]:
        clip = read_clip(self.clip)
        film = np.resize(np.concatenate([clip, clip[-2:0:-1]]), (self.rows, clip.shape[1]))
        copy = as_stream(darken(film, self.levels), names[1], self.rate, START_MS + self.shift_ms)
        model = delay_model(self.delays)
        return [as_stream(film, names[0], self.rate, START_MS), disorder(copy, "event_time", model, _SEED)]


class Fleets(NamedTuple):
    """The parameters of fleets of taxis in Beijing, one for each stream.

    `size` is the number of taxis of each, and `delays` names the delay model of their fixes.
    """

    size: int
    minutes: int
    delays: str
    files: int

    def tables(self, names: list[str]) -> list[pa.Table]:
        parameters: dict[str, Any] = {"duration_ms": self.minutes * 60_000, "delays": delay_model(self.delays)}
        fleets = (taxis(self.size, _SEED, shift=number, **parameters) for number in range(len(names)))
        return [pa.Table.from_batches(fleet, SCHEMA) for fleet in fleets]


READINGS = {
    GAME2: Readings(120_000, 1000, 16, "game2", "sensor", "value", 12),
    TRADES: Readings(90_000, 100, 4, "exponential:6 s", "symbol", "amount", 30),
    METERS: Readings(60_000, 200, 4, "exponential:2 s", "district", "energy", 4),
}
"""Two minutes of a football match, a quarter of an hour of trades, and five minutes of meters."""

_FLEETS = Fleets(1500, 60, "exponential:8 s", 12)

STREAMS: dict[Path, Made] = {
    **READINGS,
    COPIES: Films(1000, 25, "bikes", 16, 1000, "exponential:400 ms", 8),
    DISTRICTS: _FLEETS,
    MEETINGS: _FLEETS,
}
"""What is generated for each query: also 40 seconds of film, and an hour of taxis, the same left fleet for both."""


def entries(files: list[Path]) -> list[str]:
    """Return where `declare` puts queries and their inputs, as paths in its `home`."""
    return [entry for file in files for entry in (f"queries/{file.name}", f"data/{file.stem}")]


Field = tuple[str, ...]
"""The place of a field in a query file: the names of the sections above it, and its own."""

_SERVERS: tuple[Field, ...] = (("streams", "readings", "source", "servers"), ("answers", "kafka", "servers"))

GROWING = entries([PAYMENTS])[-1]
"""The directory that receives files as long as a demonstration runs."""


def finished_entries(files: list[Path]) -> list[str]:
    """Select the entries that `declare` completes; a living stream adds to the others."""
    return [entry for entry in entries(files) if entry != GROWING]


def sent_files(home: Path, file: Path) -> Path:
    """Return the directory of what is sent to the topic that a query reads."""
    [stream] = load(file).streams
    return home / "data" / file.stem / stream


def declare(home: Path, files: list[Path], servers: str = "") -> list[Path]:
    """Copy queries into a directory `home/queries`, and what some of them read into `home/data`.

    These are the generated streams, and the dimension table, which may then be changed. A `LivingStream` writes what
    the queries of `LIVING` read, as time passes. What `METERS` reads is written for a `Sending`.

    Parameters
    ----------
    servers : str
        The brokers of the topics of `METERS`.

    Returns
    -------
    list of Path
        The copies, in order; the paths of their sources and tables are absolute.
    """
    directory = home / "queries"
    directory.mkdir(parents=True, exist_ok=True)
    for file in files:
        data, query = home / "data" / file.stem, load(file)
        sources = {name: stream.path for name, stream in query.streams.items()} if file != METERS else {}
        made = STREAMS.get(file)
        if made:
            for name, table in zip(query.streams, made.tables(list(query.streams)), strict=True):
                write(table, data / name, made.files)
        if made or file in LIVING:
            sources = {name: (home / GROWING if file in LIVING else data) / name for name in sources}
        values: dict[Field, str] = {("streams", name, "source", "path"): str(path) for name, path in sources.items()}
        if query.table is not None:
            values["spatial_join", "table", "path"] = str(shutil.copy(query.table.place.file, data))
        if file == METERS:
            values |= dict.fromkeys(_SERVERS, servers)
        (directory / file.name).write_text(_with_values(file.read_text("utf-8"), values), encoding="utf-8")
    return [directory / file.name for file in files]


def _with_values(text: str, values: dict[Field, str]) -> str:
    """Return the text of a query file with other values in the place of what some of its fields have there."""
    root = yaml.compose(text, yaml.SafeLoader)
    assert root is not None  # the query was loaded
    nodes = [(_node(root, field), value) for field, value in values.items()]
    for node, value in sorted(nodes, key=lambda entry: entry[0].start_mark.index, reverse=True):
        text = f"{text[: node.start_mark.index]}{json.dumps(value, ensure_ascii=False)}{text[node.end_mark.index :]}"
    return text


def _node(root: yaml.Node, field: tuple[str, ...]) -> yaml.Node:
    """Return the node of an existing field of a YAML document."""
    for name in field:
        root = next(value for key, value in root.value if key.value == name)
    return root
