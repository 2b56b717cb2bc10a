"""Mutation checks: take each guard out of a copy of the tree, and see a quick test go red without it.

    python tools/mutations.py [WORD…]

With words, only the guards whose names have one of them. Exit code 1 if the tests are red with all guards in place, if
a guard's tests stay green without it, or if its text is gone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_PARTS = ("include", "tests", "samples", "spark_apps", "dags", "pyproject.toml", "README.md")
_TIMEOUT_S = 180
_FAILED = 1  # pytest's exit code for tests that ran and failed; others tell of errors of the call


class Mutation(NamedTuple):
    """A guard, the text of a file that makes it, the text in its place, and the tests that must fail then."""

    guard: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]


SINK = "tests/unit/spark/test_sink.py"

MUTATIONS = (
    Mutation(
        "app transactions: the check",
        "storage/tables.py",
        "if _last_batch(table, app, name) >= batch:",
        "if False:",
        (SINK,),
    ),
    Mutation(
        "app transactions: the record",
        "storage/tables.py",
        "CommitProperties(app_transactions=[Transaction(_app_id(app, name), batch)])",
        "CommitProperties()",
        (SINK,),
    ),
    Mutation(
        "app transactions: batch 0",
        "storage/tables.py",
        "return -1 if last is None else last",
        "return last or -1",
        (SINK,),
    ),
    Mutation(
        "lock on the checkpoint",
        "spark/app.py",
        'with layout.lock("stream"):',
        'with layout.lock("nobody"):',
        ("tests/unit/spark/test_stream_lock.py",),
    ),
    Mutation("balance", "spark/sink.py", "self.balance(table_rows)", "pass", (SINK,)),
    Mutation(
        "timestamps far in the future",
        "sources/check.py",
        "event - columns.ahead_ms > arrival",
        "event - columns.ahead_ms < 0",
        ("tests/unit/sources/test_check.py",),
    ),
    Mutation(
        "facts hold from a tick that nobody has processed",
        "engine/next_facts.py",
        "settings_of(policy), tick + 1, evidence",
        "settings_of(policy), tick, evidence",
        ("tests/properties/test_facts.py",),
    ),
    Mutation(
        "order in the sink: `metrics` last",
        "storage/table_schemas.py",
        '("history", "results", "late", "quarantine", "facts", "segments", "metrics")',
        '("metrics", "history", "results", "late", "quarantine", "facts", "segments")',
        (SINK,),
    ),
    Mutation(
        "order in the sink: executed before a table is asked",
        "spark/sink.py",
        "table_rows = self.execute(rows)",
        'if self.tables.last_batch("metrics", self.app) >= batch:\n            return {}\n'
        "        table_rows = self.execute(rows)",
        (SINK,),
    ),
    Mutation(
        "lease: a driver that lost it ends",
        "storage/writer.py",
        "os._exit(LOST)",
        "return",
        ("tests/unit/storage/test_writer.py",),
    ),
    Mutation(
        "journal: an entry of another driver is not replaced",
        "storage/journal.py",
        "create_atomically(self._file(number)",
        "write_atomically(self._file(number)",
        ("tests/unit/storage/test_journal.py",),
    ),
    Mutation(
        "deployment: the query fits its checkpoint",
        "orchestration/submit.py",
        "layout.require_deployable(query.query.structure(), query.file)",
        "pass",
        ("tests/orchestration/test_stream_operators.py",),
    ),
    Mutation(
        "vacuum: no file that a correction reads",
        "spark/sink.py",
        "held.enter_context(self.tables.layout.lock(VACUUM))",
        "pass",
        (SINK,),
    ),
    Mutation(
        "retraction",
        "correction/versions.py",
        "gone = select(earlier, identity.find(earlier, found) < 0)",
        "gone = earlier.slice(0, 0)",
        ("tests/properties/test_corrections.py",),
    ),
    Mutation(
        "fence",
        "drivers/launch.py",
        "victims = fence.fence(options.home, token)",
        "victims: list[int] = []",
        ("tests/orchestration/test_launch.py",),
    ),
    Mutation(
        "fence: processes are dead before it returns",
        "drivers/fence.py",
        "if not targets and not survivor_pids:",
        "if True:",
        ("tests/orchestration/test_fence.py",),
    ),
    Mutation(
        "a topic's records stay in the order of their partition",
        "sources/kafka_records.py",
        "np.maximum.accumulate(merged_ms[own])",
        "merged_ms[own]",
        ("tests/properties/test_kafka_records.py",),
    ),
    Mutation(
        "a topic's records behind the end of a cut are left out",
        "sources/kafka_fetch.py",
        "& (of_message < ends[of_part])",
        "",
        ("tests/properties/test_kafka_records.py",),
    ),
    Mutation(
        "Kafka's errors of access: forgotten once the client was let in",
        "sources/kafka_access.py",
        """        self._newest = None

    @property""",
        """        pass

    @property""",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "Kafka's errors of access: told in place of a timeout",
        "sources/kafka_access.py",
        "self._newest = error",
        "pass",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "Kafka's settings that the client does not take are refused",
        "sources/kafka_access.py",
        "except KafkaException as error:\n        right",
        "except ZeroDivisionError as error:\n        right",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
)


def check(mutation: Mutation, tree: Path) -> str | None:
    """Return what is wrong with a guard's tests; None where they go red without it."""
    file = tree / "include" / "tailrace" / mutation.file
    whole = file.read_text()
    if whole.count(mutation.text) != 1:
        return f"{mutation.file} has its text {whole.count(mutation.text)} times, and not once"
    try:
        file.write_text(whole.replace(mutation.text, mutation.replacement))
        done = run_tests(mutation.tests, tree)
    except subprocess.TimeoutExpired:
        return f"its tests did not end within {_TIMEOUT_S} s"
    finally:
        file.write_text(whole)
    if done.returncode == _FAILED and re.search(
        r"^\d+ failed", done.stdout, re.MULTILINE
    ):  # a missing pytest exits alike
        return None
    return f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"


def run_tests(tests: Iterable[str], tree: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(tree / name) for name in ("include", "tests"))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def main(words: list[str]) -> int:
    """Check all guards, or those with one of some words; returns the exit code."""
    chosen = [one for one in MUTATIONS if not words or any(word in one.guard for word in words)]
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        tree = Path(directory)
        for name in _PARTS:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tree / name)
        tests = sorted({test for mutation in chosen for test in mutation.tests})
        whole = run_tests(tests, tree)
        if whole.returncode:
            print(f"the tests are not green with all guards in place:\n{whole.stdout[-3000:]}")
            return 1
        wrong = 0
        for mutation in chosen:
            started = time.monotonic()
            problem = check(mutation, tree)
            wrong += problem is not None
            verdict = "red" if problem is None else f"NOT RED: {problem}"
            print(f"{mutation.guard}: {verdict} ({time.monotonic() - started:.0f} s)", flush=True)
    print(f"{len(chosen)} guards, {wrong} of them without a test that goes red")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
