"""CONTRIBUTING's recipe for a file format: one file, and one registration, in a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailrace

pytestmark = pytest.mark.needs("process")

TESTS = Path(__file__).parents[2]
RUN = """
import json, sys
from pathlib import Path
from kit.runs.local_driver import Driver
from tailrace.cli.leaving import leave
from tailrace.query.json_schema import json_schema
from tailrace.query.loading import load
from tailrace.stream.source_sample import report_of, sample_sources

query = load(Path(sys.argv[1]))
(report,) = report_of(query, sample_sources(query))
app = Driver(query, Path(sys.argv[2]))
app.run(flush=True)
rows = app.tables.read("results", ["key", "window_end", "value", "tuples"]).to_pylist()
formats = json_schema()["$defs"]["Source"]["properties"]["format"]["enum"]
quarantined = app.tables.read("quarantine", ["record"]).column(0).to_pylist()
answers = sorted(map(repr, rows))
print(json.dumps([answers, report.accepted, formats, quarantined, app.tables.has("history")]), flush=True)
leave(0)  # as every command: Arrow's threads may abort a process that finalises Python
"""
QUERY = """
name: sums
kind: aggregate
streams:
  readings:
    source: {{format: {format}, path: in}}
    event_time: at
    arrival_time: came
    id: id
    key: key
window: {{size: 100 ms}}
aggregate: {{function: sum, column: value}}
"""
MS = 1_700_000_000_000
ROWS = {
    "at": [MS + 7 * i for i in range(60)],
    "came": [MS + 7 * i + 3 for i in range(60)],
    "id": [f"t{i}" for i in range(60)],
    "key": ["ab"[i % 2] for i in range(60)],
    "value": [float(i) for i in range(59)] + [float("nan")],
}
TYPES = {"at": "int64", "came": "int64", "id": "string", "key": "string", "value": "double"}


def package_with_toy_format(directory: Path) -> Path:
    """Copy the package, and do what the recipe says."""
    shutil.copytree(
        Path(tailrace.__file__).parent, directory / "tailrace", ignore=shutil.ignore_patterns("__pycache__")
    )
    sources = directory / "tailrace" / "sources"
    shutil.copy(TESTS / "kit" / "fakes" / "toy_format.py", sources / "toy_files.py")  # 1. one file
    registry = sources / "formats.py"
    text = registry.read_text()
    line = '    "csv": CsvFiles(),\n'
    assert text.count(line) == 1
    imported = "from tailrace.sources.toy_files import ToyFiles\n\nFORMATS: dict"
    registry.write_text(
        text.replace("\nFORMATS: dict", imported).replace(line, f'{line}    "toy": ToyFiles(),\n')
    )  # 2.
    return directory


def run(package: Path, home: Path, format_name: str) -> list:
    home.mkdir(exist_ok=True)
    (home / "in").mkdir()
    if format_name == "toy":
        header = ";".join(f"{name}:{kind}" for name, kind in TYPES.items())
        records = [";".join(map(str, record)) for record in zip(*ROWS.values(), strict=True)]
        for number, part in enumerate((records[:25], records[25:])):
            (home / "in" / f"part-{number}.toy").write_text("\n".join([header, *part]) + "\n")
    else:
        pq.write_table(pa.table(ROWS), home / "in" / "part-0.parquet")
    query = home / "sums.yaml"
    query.write_text(QUERY.format(format=format_name))
    environment = os.environ | {"PYTHONPATH": f"{package}{os.pathsep}{TESTS}"}
    command = [sys.executable, "-c", RUN, str(query), str(home / "wh")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_format_takes_one_file_and_one_registration(tmp_path: Path) -> None:
    package = package_with_toy_format(tmp_path / "package")
    answers, accepted, formats, quarantined, has_history = run(package, tmp_path / "toy", "toy")
    expected, *_ = run(package, tmp_path / "parquet", "parquet")
    assert answers == expected
    assert len(answers) > 6
    assert accepted == 59
    assert "toy" in formats
    assert (len(quarantined), has_history) == (1, False), "its files are the history, since it says that they stay"
    assert quarantined[0].endswith("nan")
