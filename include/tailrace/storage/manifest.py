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
from tailrace.query.structure import UNBOUND, with_null_keys
from tailrace.sources.segments import Types

FORMAT = 10
"""The version of the journal, the tables and the commit; increase it when a later tailrace reads another format."""

RESCALED = 11
"""`FORMAT`, in whose journal the number of tasks has changed: a tailrace that does not know that would lose states."""

OWN_SCORES = 12
"""The version of a ranking whose scores have their own type. Earlier versions rank doubles, whatever the source has.

The number of tasks may have changed in it, as in `RESCALED`."""

READABLE = (FORMAT, RESCALED, OWN_SCORES)
"""The versions that this tailrace goes on with."""

TAKEN_OVER = 9
"""The version that `tailrace rebuild` migrates: each task had the query's clock in its state, held by Spark."""

REBUILT = (*READABLE, TAKEN_OVER)
"""The versions that `tailrace rebuild` reads."""


@dataclass(frozen=True)
class CheckpointManifest:
    """The manifest of a stream's checkpoint: the query and the source it was created for.

    Only `tailrace rebuild` replaces it, and the first change of the number of tasks, which sets its format.

    Attributes
    ----------
    id : str
        The id of the checkpoint in the tables' app transactions.
    structure : dict
        `Query.structure()`: the parts of the query that may not change while the checkpoint lives.
    types : dict
        The types of each stream's columns when they were first read, by the stream's name.
    identities : dict
        The identity of each stream's source, such as a Delta table's id, if it has one; by the stream's name.
    columns : dict
        The source's column for each part of a stream's tuples, by the stream's name; empty in older manifests.
    plans_from : int
        The first batch whose partition plans and numbers of tasks count; earlier ones are for another checkpoint.
    state : int
        The version of the tasks' states; the default is for manifests that lack it.
    """

    id: str
    structure: dict[str, Any]
    types: dict[str, Types]
    identities: dict[str, str] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    plans_from: int = 0
    state: int = 6
    format: int = FORMAT

    @property
    def first_tasks(self) -> int:
        """The number of tasks with which the checkpoint was created or rebuilt."""
        return int(self.structure["parallelism"])

    @staticmethod
    def new(
        structure: dict[str, Any],
        types: dict[str, Types],
        identities: dict[str, str],
        columns: Mapping[str, Mapping[str, str]],
    ) -> CheckpointManifest:
        """Return the manifest of a new checkpoint."""
        version = format_of(structure)
        parts = structure, types, identities, columns
        return CheckpointManifest(uuid.uuid4().hex, *parts, state=STATE_VERSION, format=version)


def format_of(structure: Mapping[str, Any]) -> int:
    """Return the version of a new checkpoint of a query."""
    return OWN_SCORES if structure.get("kind") == "topk" else FORMAT


def create_manifest(file: Location, manifest: CheckpointManifest) -> None:
    """Create a manifest atomically; raise a `FileExistsError` where there is one."""
    create_atomically(file, _text(manifest))


def write_manifest(file: Location, manifest: CheckpointManifest) -> None:
    """Write a manifest atomically."""
    write_atomically(file, _text(manifest))


def _text(manifest: CheckpointManifest) -> str:
    return json.dumps(asdict(manifest), indent=1)


def changes(manifest: CheckpointManifest, query: Query) -> dict[str, tuple[Any, Any]]:
    """Return the parts of a query's structure that differ from a manifest: values before and now, by field path.

    Parts that the query does not declare are taken from the manifest, see `Query.fixed_by`. A manifest of an earlier
    version lacks `bounds.skew`, and its journal has no times to limit by it; it may have a path that is `UNBOUND` now.

    Raises
    ------
    Refused
        When the query's declaration does not fit the parts that it leaves to the checkpoint.
    """
    before = with_null_keys(_with_order(manifest.structure))
    now = json.loads(json.dumps(query.fixed_by(before).structure()))
    names = [name for name in sorted((now.keys() | before.keys()) - {UNBOUND}) if before.get(name) != now.get(name)]
    names = [name for name in names if name in before or not name.endswith(".bounds.skew")]
    names = [name for name in names if name in before or now[name] != []]  # a field that its version did not have
    names = [name for name in names if name != "parallelism" or query.tasks]  # without tasks no state depends on it
    return {name: (before.get(name), now.get(name)) for name in names}


def binding_changes(manifest: CheckpointManifest, query: Query) -> dict[str, tuple[Any, Any]]:
    """Return the `changes` with which a stream can't go on; another number of tasks may be one that it can take up."""
    changed = changes(manifest, query)
    return {name: values for name, values in changed.items() if name != "parallelism"}


def _with_order(structure: dict[str, Any]) -> dict[str, Any]:
    """Add the order of named aggregates, in which an earlier version wrote their fields."""
    names = dict.fromkeys(path.split(".")[1] for path in structure if re.fullmatch(r"aggregate\.\w+\.\w+", path))
    if "aggregate.order" in structure or len(names) < 2:  # noqa: PLR2004
        return structure
    return structure | {"aggregate.order": [*names]}


def keeps_answers(changed: Iterable[str]) -> bool:
    """Test whether no answer depends on these parts of a query's structure."""
    return set(changed) <= {"parallelism", "emd_join.cells"}
