"""`make parts`: brings what tests need beside Python before the first of them, and says what is missing.

    PYTHONPATH=include:tests python tools/fetch_parts.py

Tests bring it too, in the midst of their run. Exit code 1 if a part is missing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bench.kafka import broker, connector
from kit.parts import chromium, debian, delta_jars, object_store, postgres, yarn_cluster


@dataclass(frozen=True)
class Part:
    """A part: whether it is there, and what brings it, or raises."""

    name: str
    is_there: Callable[[], object]
    bring: Callable[[], object]

    def provide(self) -> tuple[bool, str]:
        """Bring the part unless it is there; return whether it is there now, and what is to say of it."""
        if self.is_there():
            return True, "there"
        began_s = time.monotonic()
        try:
            self.bring()
        except pytest.fail.Exception as missing:  # its message says what to type
            return False, f"missing: {missing}"
        except (OSError, RuntimeError) as missing:
            return False, f"missing: {missing}\nRight would be: a network with Maven's repository, then make parts"
        return True, f"fetched in {time.monotonic() - began_s:.0f} s"


PARTS = (
    Part("Chromium", chromium.installed, chromium.program),
    Part("PostgreSQL", postgres.installed, postgres.programs),
    Part("strace", debian.strace_installed, debian.strace),
    Part("the object store", object_store.installed, object_store.program),
    *(
        Part(name, lambda jars=jars: jars.are_there, jars.bring)
        for name, jars in (
            ("Kafka", broker.JARS),
            ("Spark's Kafka connector", connector.JARS),
            ("YARN", yarn_cluster.JARS),
            ("Delta Lake's jar", delta_jars.JARS),
        )
    ),
)
"""What is not in the environment of `make setup`; the services of docker-compose.yaml run of these, too."""


def main(parts: tuple[Part, ...] = PARTS) -> int:
    """Bring all parts; return 1 if one is missing."""
    are_there = []
    for part in parts:
        is_there, said = part.provide()
        print(f"{part.name}: {said}", flush=True)
        are_there.append(is_there)
    return 0 if all(are_there) else 1


if __name__ == "__main__":
    sys.exit(main())
