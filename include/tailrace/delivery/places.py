"""The places from which people read a query's answers: each job that writes versions of answers delivers to all."""

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
    """A place that answers are delivered to.

    Attributes
    ----------
    name : str
        By which the status names it; its lock has this name, too.
    deliver : callable
        Takes the longest wait for another process that delivers there, in s; brings the place up to all that the
        tables hold (idempotent).
    holds_streams : bool
        Whether a stream waits once the place has lacked answers for too long. Not one that lies beside the tables.
    """

    name: str
    deliver: Callable[[float], object]
    holds_streams: bool = True

    def failure(self, reason: str) -> RuntimeError:
        """Return the error of a job whose answers are all committed, but could not be delivered."""
        fault = f"all answers are committed, but {self.name} could not be brought up to date: {reason}"
        return RuntimeError(f"{fault}\nthe same command tries it again")


def places_of(layout: Layout, query: Query, kind: Kind) -> tuple[Place, ...]:
    """Return the places of a query's answers; `query` is as the stream runs it."""
    places = [Place(CURRENT, partial(refresh, layout, query, kind), holds_streams=False)]
    if query.answers.kafka is not None:
        places.append(Place(TOPIC, partial(send_corrections, layout, query, kind)))
    if query.answers.postgres is not None:
        places.append(Place(POSTGRES, partial(deliver, layout, query, kind)))
    return tuple(places)


def check_places(layout: Layout, query: Query, kind: Kind) -> None:
    """Refuse a query for a place that is not fit for its answers, before anything is written.

    Raises
    ------
    Refused
    """
    check_answer_table(query, kind, layout)


def deliver_all(layout: Layout, query: Query, kind: Kind) -> None:
    """Bring all places up to date at the end of a job; a failing place does not stop the others.

    Raises
    ------
    Damaged
        When a table of the query is lost or damaged.
    RuntimeError
        When a place could not be brought up to date: the job's own work is done, so that is no refusal.
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
    """Lock all places, so that nothing is delivered while a rebuild replaces the tables."""
    with ExitStack() as locks:
        for place in places_of(layout, query, kind):
            locks.enter_context(layout.lock(place.name, WAIT_S))
        yield
