"""The manifest of a stream's checkpoint: the query and the source that it was created for."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tailrace.ground.files.atomic_files import create_atomically, write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.query.query import Query
from tailrace.sources.segments import Types

FORMAT = 13
"""The version of a warehouse's files: manifest, journal, states and tables. 13 is the format of the first release.

Increase it with a change after which tailrace can't continue a stream from older files.
"""


@dataclass(frozen=True)
class CheckpointManifest:
    """The manifest of a stream's checkpoint: the query and the source it was created for.

    Only `tailrace rebuild` replaces it.

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
        The source's column for each part of a stream's tuples, by the stream's name.
    plans_from : int
        The first batch whose partition plans and numbers of tasks count; earlier ones are for another checkpoint.
    format : int
        `FORMAT` of the version of tailrace that created the checkpoint.
    """

    id: str
    structure: dict[str, Any]
    types: dict[str, Types]
    identities: dict[str, str]
    columns: Mapping[str, Mapping[str, str]]
    plans_from: int = 0
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
        return CheckpointManifest(uuid.uuid4().hex, structure, types, identities, columns)


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

    Parts that the query does not declare are taken from the manifest, see `Query.fixed_by`.

    Raises
    ------
    Refused
        When the query's declaration does not fit the parts that it takes from the checkpoint.
    """
    before = manifest.structure
    now = json.loads(json.dumps(query.fixed_by(before).structure()))
    names = [name for name in sorted(now.keys() | before.keys()) if before.get(name) != now.get(name)]
    names = [name for name in names if name != "parallelism" or query.tasks]  # without tasks no state depends on it
    return {name: (before.get(name), now.get(name)) for name in names}


def binding_changes(manifest: CheckpointManifest, query: Query) -> dict[str, tuple[Any, Any]]:
    """Return the `changes` that prevent a stream from going on; some changes of the number of tasks don't."""
    changed = changes(manifest, query)
    return {name: values for name, values in changed.items() if name != "parallelism"}


def keeps_answers(changed: Iterable[str]) -> bool:
    """Test whether no answer depends on these parts of a query's structure."""
    return set(changed) <= {"parallelism"}
