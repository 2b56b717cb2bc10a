"""The answers over a source with partitions are those over the same files in one directory."""

from __future__ import annotations

import pytest

from kit.runs.local_driver import Driver
from kit.runs.object_streams import START, answers, query_on, readings, write
from tailrace.storage.log import Log

PATHS = ["2026-11-25/b", "2026-11-26/a", "2026-11-26/c"]


@pytest.mark.needs("long")
@pytest.mark.parametrize("format_name", ["parquet", "json", "csv"])
def test_answers_and_history_are_those_of_files_in_one_directory(tmp_path, format_name):
    apps: list[Driver] = []
    for number, path in enumerate(PATHS):
        flat = tmp_path / "flat" / f"part-{number}.{format_name}"
        parted = tmp_path / "parted" / f"{path}.{format_name}"
        for file in (flat, parted):
            file.parent.mkdir(parents=True, exist_ok=True)
            write(readings(400 * number, 400), file)
        if not apps:
            apps = [
                Driver(query_on(str(tmp_path / name), format_name, None), tmp_path / f"{name}-warehouse")
                for name in ("flat", "parted")
            ]
        for app in apps:
            app.run(batch_rows=150, flush=number == len(PATHS) - 1)
    expected, actual = map(answers, apps)
    assert len(expected) > 40
    assert actual == expected
    ids = []
    for app in apps:
        log = Log.read(app.pipeline.readers[0], app.tables, START + 10**9)
        batches = [log.reader().read(piece, ["id"]) for piece in log.pieces()]
        ids.append(sorted(id_ for batch in batches for id_ in batch.column("id").to_pylist()))
    assert ids[0] == ids[1]
    assert len(ids[0]) > 1000
