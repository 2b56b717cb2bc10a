"""The position up to which a topic has the corrections of a query, in a file of the query's directory."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from tailrace.delivery.answer_changes import Position
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.query.query import Query
from tailrace.storage.layout import Layout


@dataclass(frozen=True)
class TopicPosition:
    """The position of a topic.

    Attributes
    ----------
    topic : dict
        The topic as declared.
    generation : int
        The generation of all records that are sent: its answers take precedence over earlier generations with any
        `as_of`.
    created : int
        The time (ms) at which the table `results` of the topic's answers was created; 0 before the first table.
    tables : dict
        The ids and versions of the tables; empty while all answers are being sent.
    """

    topic: dict[str, Any]
    generation: int
    created: int
    tables: Position

    @staticmethod
    def file(layout: Layout) -> Location:
        """Return its file, which a rebuild keeps, and a backup leaves out."""
        return layout.home / "_answer_topic.json"

    @staticmethod
    def read(layout: Layout) -> TopicPosition | None:
        """Read the position; None if it is lost or damaged, so that everything is sent."""
        try:
            return TopicPosition(**json.loads(TopicPosition.file(layout).read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def write(self, layout: Layout) -> None:
        """Write the position, atomically."""
        write_atomically(self.file(layout), json.dumps(asdict(self)))


def declared_topic(query: Query) -> dict[str, Any]:
    """Return the topic's declaration in the query file."""
    declared = query.answers.kafka
    return {} if declared is None else declared.model_dump(mode="json")
