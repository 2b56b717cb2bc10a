"""The request for another number of tasks: a file that the stream's driver reads before its next batch."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass

from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.storage.layout import Layout


@dataclass(frozen=True)
class RescaleRequest:
    """A request for a number of tasks; a later one replaces it.

    The file stays. The journal has the id of the newest accepted request, so none is lost or accepted twice, even if a
    driver dies.
    """

    id: str
    tasks: int

    @staticmethod
    def new(tasks: int) -> RescaleRequest:
        """Return a request with an id of its own."""
        return RescaleRequest(uuid.uuid4().hex, tasks)

    def write(self, layout: Layout) -> None:
        """Replace the last request of a query's stream."""
        write_atomically(_path(layout), json.dumps(asdict(self)))

    @staticmethod
    def read(layout: Layout) -> RescaleRequest | None:
        """Read the last request; None without one that can be read."""
        try:
            values = json.loads(_path(layout).read_text())
            return RescaleRequest(str(values["id"]), int(values["tasks"]))
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None


def _path(layout: Layout) -> Location:
    return layout.stream / "rescale.json"
