"""The optional queries of the demonstration, behind their flags, and the streams generated for them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import yaml

from tailrace.generators.delays import delay_model
from tailrace.generators.replay import generate, write
from tailrace.query.loading import load

_SEED = 2
_DIRECTORY = Path(__file__).parent
DELAYS, GAME2, TRADES = (_DIRECTORY / f"{name}.yaml" for name in ("delays", "game2", "trades"))


class Made(NamedTuple):
    """The parameters of a stream that is generated from a fixed seed.

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

    def table(self) -> pa.Table:
        readings = generate(self.rows, self.rate, self.keys, delay_model(self.delays), _SEED)
        return readings.rename_columns({"sensor": self.key, "value": self.value})


STREAMS = {
    GAME2: Made(120_000, 1000, 16, "game2", "sensor", "value", 12),
    TRADES: Made(90_000, 100, 4, "exponential:6 s", "symbol", "amount", 30),
}
"""Two minutes of a football match, and a quarter of an hour of trades."""


def declare(home: Path, files: list[Path]) -> list[Path]:
    """Copy queries into a directory `home/queries`, and generate the streams that some of them read in `home/data`.

    Returns
    -------
    list of Path
        The copies, in order; the paths of their sources are absolute.
    """
    directory = home / "queries"
    directory.mkdir()
    for file in files:
        stream = STREAMS.get(file)
        data = home / "data" / file.stem
        (directory / file.name).write_text(_with_absolute_paths(file, data if stream else None), encoding="utf-8")
        if stream:
            write(stream.table(), data, stream.files)
    return [directory / file.name for file in files]


def _with_absolute_paths(file: Path, data: Path | None) -> str:
    """The text of a query file with absolute source paths; with `data`, that is the path of every source."""
    document = yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader)  # scalars stay text, as in the query loader
    for name, stream in load(file).streams.items():
        document["streams"][name]["source"]["path"] = str(data or stream.source.path)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
