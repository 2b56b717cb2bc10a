"""The other queries of the demonstration, behind their flags, and the streams that are made for them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import yaml

from tailrace.generators.delays import delay_model
from tailrace.generators.replay import generate, write
from tailrace.query.loading import load

_SEED = 2
_HERE = Path(__file__).parent
DELAYS, GAME2, TRADES = (_HERE / f"{name}.yaml" for name in ("delays", "game2", "trades"))


class Made(NamedTuple):
    """A stream of a seed: its tuples a second, how many keys, its delays, and what `sensor` and `value` are called."""

    rows: int
    rate: int
    keys: int
    delays: str
    key: str
    value: str
    files: int

    def table(self) -> pa.Table:
        made = generate(self.rows, self.rate, self.keys, delay_model(self.delays), _SEED)
        return made.rename_columns({"sensor": self.key, "value": self.value})


STREAMS = {
    GAME2: Made(120_000, 1000, 16, "game2", "sensor", "value", 12),
    TRADES: Made(90_000, 100, 4, "exponential:6 s", "symbol", "amount", 30),
}
"""Two minutes of a football match, and a quarter of an hour of trades."""


def declare(home: Path, files: list[Path]) -> list[Path]:
    """Copy queries into a directory `home/queries`, and make the streams that some of them read in `home/data`.

    Returns
    -------
    list of Path
        The copies, in order; the paths of their sources are absolute.
    """
    directory = home / "queries"
    directory.mkdir()
    for file in files:
        made = STREAMS.get(file)
        data = home / "data" / file.stem
        (directory / file.name).write_text(_moved(file, data if made else None), encoding="utf-8")
        if made:
            write(made.table(), data, made.files)
    return [directory / file.name for file in files]


def _moved(file: Path, data: Path | None) -> str:
    """A query file's text, with the absolute paths of its sources; `data`: they are there."""
    declared = yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader)  # scalars stay text, as the loader has it
    for name, stream in load(file).streams.items():
        declared["streams"][name]["source"]["path"] = str(data or stream.source.path)
    return yaml.safe_dump(declared, sort_keys=False, allow_unicode=True)
