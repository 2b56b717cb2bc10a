"""The delivery targets of a query's answers: each job that writes versions of answers delivers to all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from tailrace.delivery.current import refresh
from tailrace.delivery.postgres import check_answer_table, deliver
from tailrace.delivery.topic_answers import send_corrections
from tailrace.ground.errors import Damaged
from tailrace.kind.protocol import Kind
from tailrace.query.answers_section import CURRENT, POSTGRES, TOPIC
from tailrace.query.query import Query
from tailrace.storage.layout import Layout

WAIT_S = 600.0
"""The longest wait, in s, for another process that delivers: ten million answers to `current` take it ten seconds."""


@dataclass(frozen=True)
class Place:
    """A delivery target of answers.

    Attributes
    ----------
    name : str
        Its name in the status, and of its lock.
    deliver : callable
        Brings the target up to date with the tables (idempotent); takes the longest wait (s) for another process that
        delivers there.
    holds_streams : bool
        Whether a stream waits once the target has lacked answers for too long; not for a target beside the tables.
    """

    name: str
    deliver: Callable[[float], object]
    holds_streams: bool = True

    def failure(self, reason: str) -> RuntimeError:
        """Return the error for a job whose answers are committed, but could not be delivered."""
        fault = f"all answers are committed, but {self.name} could not be brought up to date: {reason}"
        return RuntimeError(f"{fault}\nthe same command tries it again")


def places_of(layout: Layout, query: Query, kind: Kind) -> tuple[Place, ...]:
    """Return the delivery targets of a query, as the stream runs it."""
    places = [Place(CURRENT, partial(refresh, layout, query, kind), holds_streams=False)]
    if query.answers.kafka is not None:
        places.append(Place(TOPIC, partial(send_corrections, layout, query, kind)))
    if query.answers.postgres is not None:
        places.append(Place(POSTGRES, partial(deliver, layout, query, kind)))
    return tuple(places)


def check_places(layout: Layout, query: Query, kind: Kind) -> None:
    """Refuse a query before anything is written if a delivery target can't take its answers.

    Raises
    ------
    Refused
    """
    check_answer_table(query, kind, layout)


def deliver_all(layout: Layout, query: Query, kind: Kind) -> None:
    """Bring all targets up to date at the end of a job; a failing target does not stop the others.

    Raises
    ------
    Damaged
        When a table of the query is lost or damaged.
    RuntimeError
        When a target could not be brought up to date. The job's own work is done, so this is no refusal.
    """
    failures: list[Exception] = []
    for place in places_of(layout, query, kind):
        try:
            place.deliver(WAIT_S)
        except Damaged as damaged:
            failures.append(damaged)
        except Exception as error:
            failure = place.failure(str(error))
            failure.__cause__ = error
            failures.append(failure)
    if failures:
        raise failures[0]


@contextmanager
def locked_places(layout: Layout, query: Query, kind: Kind) -> Iterator[None]:
    """Lock all targets, so that nothing is delivered while a rebuild replaces the tables."""
    with ExitStack() as locks:
        for place in places_of(layout, query, kind):
            locks.enter_context(layout.lock(place.name, WAIT_S))
        yield
