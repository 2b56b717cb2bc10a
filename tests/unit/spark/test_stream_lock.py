"""One driver a checkpoint: a second one is refused before it touches anything, and needs no Spark for that."""

from __future__ import annotations

import pytest

from oracle import Settings
from tailrace.ground.errors import Busy
from tailrace.spark import app
from tailrace.storage.layout import Layout
from tailrace.stream.run_options import RunOptions
from warehouse import make_query, make_stream, write_files


def test_a_second_driver_of_a_checkpoint_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "_run_batches", lambda *arguments: 0)
    write_files(make_stream(10, seed=1), tmp_path / "in", [0, 10])
    query = make_query(tmp_path / "in", Settings(500, 100, 100, "sum", "none"))
    layout = Layout.of(tmp_path / "wh", query.name)
    with layout.lock("stream"), pytest.raises(Busy, match="another process is the stream"):
        app.run(query, tmp_path / "wh", RunOptions())
    assert layout.manifest() is None
    assert app.run(query, tmp_path / "wh", RunOptions()) == 0
