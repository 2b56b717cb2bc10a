"""A run loads the room of its own kind alone: of the others it loads the models of query files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("process")

SCRIPT = """
import json, sys
import tailrace
import tailrace.query.declared
of_models = set(sys.modules)
places, histograms = {"x": [1.0, 1.0], "y": [2.0, 2.0]}, {"hist": [[0.5, 0.5], [0.25, 0.75]]}
rows = {"at": [1_700_000_000_000, 1_700_000_001_000], "id": [1, 2], "speed": [2.5, 1.5], **places, **histograms}
declared = json.loads(sys.argv[1])
streams = {side: tailrace.Stream(rows, event_time="at", id="id") for side in declared.pop("sides")}
answers = tailrace.query(declared.pop("kind"), streams=streams, **declared).run().results().arrow().num_rows
print(json.dumps([answers, sorted(name for name in sys.modules if name not in of_models)]))
"""
PAIRS = ["left", "right"]
NEAR = {"join": "interval", "interval": {"lower": "-5 s", "upper": "5 s"}, "relation": "dwithin", "distance": "1 km"}
NEAR |= {"geometry": {side: {"x": "x", "y": "y"} for side in PAIRS}}
KINDS = {
    "aggregate": {"sides": ["s"], "window": "5 s", "aggregate": {"function": "sum", "column": "speed"}},
    "topk": {"sides": ["s"], "window": "5 s", "topk": {"k": 2, "score": "speed"}},
    "emd_join": {"sides": PAIRS, "window": {"size": "5 s"}, "emd_join": {"threshold": 0.5, "histogram": "hist"}},
    "spatial_join": {"sides": PAIRS, "spatial_join": NEAR},
}
OF_PAIRS, OF_WINDOWS = {"interval_join", "window_join"}, {"window", "sessions"}
"""The operators of both sorts of kinds."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_a_kind_loads_no_operator_of_another(kind: str) -> None:
    command = [sys.executable, "-c", SCRIPT, json.dumps({"kind": kind, **KINDS[kind]})]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    answers, loaded = json.loads(done.stdout)
    rooms = {tuple(name.split(".")[1:3]) for name in loaded if name.startswith("tailrace.")}
    assert answers > 0
    assert not {room for room, *_ in rooms} & (KINDS.keys() - {kind})
    of_others = OF_PAIRS if KINDS[kind]["sides"] == ["s"] else OF_WINDOWS
    assert not {name for room, *names in rooms for name in names if room == "operators"} & of_others
    assert (kind, "kind") in rooms or kind == "spatial_join"
    assert ("scipy" in loaded) <= (kind == "emd_join")
