"""The second wall: the connection itself reaches no file, no network, no environment and no setting."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from kit.parts import debian
from kit.suite.waiting import PATIENCE_S
from tailrace.expressions.connection import connection

STATEMENTS = [
    *("SELECT * FROM '{path}'", "SELECT * FROM read_csv('{path}')", "SELECT * FROM read_text('{path}')"),
    *("SELECT content FROM read_blob('{path}')", "SELECT * FROM glob('{directory}/*')"),
    *("SELECT * FROM sniff_csv('{path}')", "SELECT nextval('{path}')"),
    *("COPY (SELECT 1) TO '{directory}/new.csv'", "ATTACH '{directory}/new.db'", "EXPORT DATABASE '{directory}/new'"),
    *("IMPORT DATABASE '{directory}'", "INSTALL httpfs", "LOAD httpfs", "LOAD '{path}'", "SELECT getenv('HOME')"),
    *("SET threads = 2", "SET enable_external_access = true", "PRAGMA threads = 2", "RESET lock_configuration"),
    *("CREATE SECRET (TYPE s3)", "SELECT * FROM read_csv('https://example.invalid/x.csv')"),
    *("SELECT * FROM python_variable",),
]  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: text[:40])
def test_a_statement_that_leaves_the_process_is_refused(tmp_path, statement):
    path = tmp_path / "secret.csv"
    path.write_text("a\n1\n")
    python_variable = pa.table({"a": [1]})  # noqa: F841  which DuckDB would take for a table
    with pytest.raises(duckdb.Error), connection() as opened:
        opened.execute(statement.format(path=path, directory=tmp_path)).fetchall()
    assert os.listdir(tmp_path) == ["secret.csv"]


@pytest.mark.needs("process")
def test_a_forked_process_has_a_connection_of_its_own():
    before = lent()
    pid = os.fork()
    if not pid:
        own = lent()
        os._exit(0 if own is not before and lent() is own else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert lent() is before


def lent():
    with connection() as opened:
        return opened


def test_threads_that_end_leave_their_connections_to_others_and_no_two_have_the_same():
    with connection() as one, connection() as other:
        assert one is not other
    seen = []
    for _ in range(5):
        thread = threading.Thread(target=lambda: seen.append(lent()))
        thread.start()
        thread.join()
    assert all(each is other or each is one for each in seen)


def attempt(sql, failed):
    try:
        with connection() as opened:
            opened.execute(sql).fetchall()
    except duckdb.Error:
        failed.set()


def test_nobody_opens_a_file_that_a_statement_names(tmp_path):
    """A FIFO's reader would be seen: to open it for writing waits until somebody has it open for reading."""
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    for statement in (text for text in STATEMENTS if "{path}" in text):
        failed = threading.Event()

        sql = statement.format(path=fifo, directory=tmp_path)
        threading.Thread(target=attempt, args=(sql, failed), daemon=True).start()
        assert failed.wait(PATIENCE_S)  # it has ended, without a reader that waits for a writer
        with pytest.raises(OSError, match="No such device or address"):  # nobody reads it
            os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)


_TRACED = """
import os, pyarrow as pa
from tailrace.expressions.projection import Projection
run = Projection.parse({"a": "upper(s) || 'ß'", "b": "get_json_object(s, '$.x')", "c": "round(x / 3, 2)"}, "s rlike 'x'", {"s": pa.string(), "x": pa.float64()}).run
table = pa.table({"s": ['{"x": 1}', "é"], "x": [1.0, 2.0]})
run(table)
os.path.exists("/the-trace-begins-here")
run(table)
os.path.exists("/the-trace-ends-here")
"""  # noqa: E501


@pytest.mark.needs("process")
def test_the_kernel_sees_no_file_and_no_socket_opened_by_expressions(tmp_path):
    trace = tmp_path / "trace"
    command = [
        debian.strace(),
        "-f",
        "-qq",
        "-e",
        "trace=%file,%network",
        "-o",
        str(trace),
        sys.executable,
        "-c",
        _TRACED,
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    except subprocess.CalledProcessError as error:
        if b"ptrace" in error.stderr.lower():
            pytest.skip("processes may not be traced here")
        raise
    _, begun, rest = Path(trace).read_text().partition("/the-trace-begins-here")
    between, ended, _ = rest.partition("/the-trace-ends-here")
    assert begun
    assert ended
    assert between.splitlines()[1:-1] == []  # the first and the last line are of the marks
