"""Guards of the room `storage`: leases and locks."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import WAREHOUSE

CONDITIONAL = "tests/unit/storage/test_conditional_store.py"
LEASE = tuple(f"tests/{place}/test_lease.py" for place in ("unit/storage", "properties"))

MUTATIONS = (
    Mutation(
        "places: another process at one is said to be busy",
        "storage/locks.py",
        """    "kafka": "sends this query's corrections to its topic",\n""",
        "",
        ("tests/unit/delivery/test_places.py",),
    ),
    Mutation(
        "lock on the checkpoint",
        "storage/writer.py",
        'with layout.lock("stream"):',
        'with layout.lock("nobody"):',
        ("tests/unit/stream/test_stream_lock.py",),
    ),
    Mutation(
        "a driver that is started on a full disk waits",
        "storage/writer.py",
        "return waits and not layout.drain.exists()",
        "return False",
        ("tests/unit/storage/test_writer.py",),
    ),
    Mutation(
        "lease: a driver that lost it ends",
        "storage/writer.py",
        "os._exit(LOST)",
        "return",
        ("tests/objects/test_lease.py",),
    ),
    Mutation(
        "a lease that is not trusted is renewed before a write",
        "storage/holding.py",
        "            if lease.is_held:\n                return",
        "            return",
        ("tests/unit/storage/test_holding.py",),
    ),
    Mutation(
        "bucket: a lock file that another container does not see spares no wait",
        "storage/locks.py",
        'f"{boot_id()}:{status.st_dev}:{status.st_ino}"',
        "boot_id()",
        ("tests/objects/test_lease.py",),
    ),
    Mutation(
        "bucket: its store honours conditions",
        "storage/locks.py",
        "    retry_while_away(partial(require_conditions, home), tries_again)\n",
        "",
        (WAREHOUSE,),
    ),
    Mutation(
        "lease: another one's is waited for",
        "storage/lease.py",
        "if stored is not None and self._is_held_elsewhere(stored) and not self._has_run_out(stored):",
        "if False:",
        LEASE,
    ),
    Mutation(
        "lease: a renewal begins the term again",
        "storage/lease.py",
        "if self._seen is None or self._seen[0] != stored.version:",
        "if self._seen is None:",
        LEASE,
    ),
    Mutation(
        "lease: it is trusted for less than the term",
        "storage/lease.py",
        "_TRUSTED = 0.8",
        "_TRUSTED = 1.1",
        LEASE,
    ),
    Mutation(
        "lease: it is trusted from the begin of a renewal",
        "storage/lease.py",
        "self._trusted_until_s = began_s +",
        "self._trusted_until_s = self._clock() +",
        LEASE,
    ),
    Mutation(
        "lease: each acquisition raises the epoch",
        "storage/lease.py",
        '_read(stored)["epoch"] + 1 if stored',
        '_read(stored)["epoch"] if stored',
        LEASE,
    ),
    Mutation(
        "lease: one that was taken is not renewed",
        "storage/lease.py",
        "if stored is not None and self._is_own(stored) and self._write",
        "if stored is not None and self._write",
        LEASE,
    ),
    Mutation(
        "conditional store: who stood still writes nothing",
        "storage/conditional_store.py",
        "return max(versions) == new",
        "return True",
        (CONDITIONAL,),
    ),
    Mutation(
        "conditional store: an object is created once",
        "storage/conditional_store.py",
        "return not any(self._versions(name)) and self._link",
        "return self._link",
        (CONDITIONAL,),
    ),
)
