"""Every function over sessions that have all tuples of their key, as over a window with a size that has them, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.draws import question_orders
from tailrace.api.declaration import load
from tailrace.functions.registry import FUNCTIONS

COLUMNS = {"bool_and": "is_new", "bool_or": "is_new"}
PARAMETERS = {
    "quantile": {"q": 0.9},
    "quantile_disc": {"q": 0.9},
    **{name: {"by": "price"} for name in ("min_by", "max_by")},
    **{name: {"other": "price"} for name in ("corr", "covar_samp", "covar_pop")},
    **{name: {"limit": 100} for name in ("collect_list", "collect_set")},
}
AGGREGATE = {
    f"of_{name}": {"function": name, "column": COLUMNS.get(name, "amount")} | PARAMETERS.get(name, {})
    for name in FUNCTIONS
}


def answers(folder: Path, window: dict[str, str]) -> list[dict[str, Any]]:
    """The answers of all functions, by user; about a tenth of the tuples comes three hours after the others."""
    stream = {"source": {"format": "csv", "path": str(folder / "orders.csv")}, "arrival_time": "came"}
    stream |= {"event_time": "ts", "id": "id", "key": ["user"]}
    file = folder / "query.yaml"
    query = {"name": "all", "kind": "aggregate", "streams": {"orders": stream}, "window": window}
    file.write_text(yaml.safe_dump(query | {"aggregate": AGGREGATE}))
    run = load(file).run(folder / next(iter(window)), engine="local")
    return sorted(run.results().dicts(), key=lambda row: str(row["user"]))


def test_all_functions_answer_sessions_as_other_windows(tmp_path: Path) -> None:
    question_orders.write(question_orders.orders(), tmp_path / "orders.csv")
    sessions, windows = answers(tmp_path, {"session": "4 h"}), answers(tmp_path, {"size": "365 d"})
    assert len(sessions) == 4
    for row, other in zip(sessions, windows, strict=True):
        for name in ("user", "tuples", *AGGREGATE):
            expected = other[name]
            nearly = pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected
            assert row[name] == nearly, name
