"""The manifest of a stream's checkpoint: the query and the source that it was created for."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tailrace.engine.task_states import VERSION as STATE_VERSION
from tailrace.ground.files import create_atomically, write_atomically
from tailrace.ground.object_path import Location
from tailrace.query.query import Query
from tailrace.sources.segments import Types

FORMAT = 10
"""The version of the journal, the tables and the commit; to be raised when a later tailrace reads other ones."""

TAKEN_OVER = 9
"""The version that `tailrace rebuild` takes over: each task had the query's clock in its state, which Spark held."""


@dataclass(frozen=True)
class CheckpointManifest:
    """The manifest of a stream's checkpoint: the query and the source it was created for.

    Only `tailrace rebuild` puts another one in its place.

    Attributes
    ----------
    id : str
        Identifies the checkpoint in the tables' app transactions.
    structure : dict
        `Query.structure()`: the parts of the query that may not change while the checkpoint lives.
    types : dict
        The types of each stream's columns when they were first read, by the stream's name.
    identities : dict
        The identity of each stream's source, where it has one: a Delta table's id; by the stream's name.
    columns : dict
        The source's column that each part of a stream's tuples is read from, by the stream's name; empty where that was
        not noted yet.
    plans_from : int
        The first batch whose partition plans count: those stamped before it are of another number of tasks, or of a
        state that was lost.
    state : int
        The version of the tasks' states; the default holds for manifests that do not name it.
    """

    id: str
    structure: dict[str, Any]
    types: dict[str, Types]
    identities: dict[str, str] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    plans_from: int = 0
    state: int = 6
    format: int = FORMAT

    @staticmethod
    def new(
        structure: dict[str, Any],
        types: dict[str, Types],
        identities: dict[str, str],
        columns: Mapping[str, Mapping[str, str]],
    ) -> CheckpointManifest:
        """Return the manifest of a new checkpoint."""
        return CheckpointManifest(uuid.uuid4().hex, structure, types, identities, columns, state=STATE_VERSION)


def create_manifest(file: Location, manifest: CheckpointManifest) -> None:
    """Write a manifest atomically, where there is none; else it raises a `FileExistsError`."""
    create_atomically(file, _text(manifest))


def write_manifest(file: Location, manifest: CheckpointManifest) -> None:
    """Write a manifest atomically."""
    write_atomically(file, _text(manifest))


def _text(manifest: CheckpointManifest) -> str:
    return json.dumps(asdict(manifest), indent=1)


def changes(manifest: CheckpointManifest, query: Query) -> dict[str, tuple[Any, Any]]:
    """Return the parts of a query's structure that differ from a manifest: values before and now, by field path.

    What the query does not declare is the manifest's, see `Query.fixed_by`. A manifest of an earlier version knows no
    `bounds.skew`, and its entries of the journal have no times to bound by it.

    Raises
    ------
    Refused
        When what the query declares does not fit what it leaves to the checkpoint.
    """
    before = _with_order(manifest.structure)
    now = json.loads(json.dumps(query.fixed_by(before).structure()))
    names = [name for name in sorted(now.keys() | before.keys()) if before.get(name) != now.get(name)]
    names = [name for name in names if name in before or not name.endswith(".bounds.skew")]
    names = [name for name in names if name in before or now[name] != []]  # a field that its version did not know
    names = [name for name in names if name != "parallelism" or query.tasks]  # without tasks no state depends on it
    return {name: (before.get(name), now.get(name)) for name in names}


def _with_order(structure: dict[str, Any]) -> dict[str, Any]:
    """Add the order of named aggregates, in which an earlier version has written their fields."""
    names = dict.fromkeys(path.split(".")[1] for path in structure if re.fullmatch(r"aggregate\.\w+\.\w+", path))
    if "aggregate.order" in structure or len(names) < 2:  # noqa: PLR2004
        return structure
    return structure | {"aggregate.order": [*names]}


def keeps_answers(changed: Iterable[str]) -> bool:
    """Test whether no answer depends on these parts of a query's structure."""
    return set(changed) <= {"parallelism"}
