"""A real S3-compatible server on loopback: the Versity gateway over a directory, built from its Go module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import obstore
import pytest
from filelock import FileLock
from obstore.store import S3Store

from kit.suite.waiting import until
from tailrace.drivers.ports import free_port

_MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUCKET, LOGIN, PASSWORD = "lake", "tailrace", "a secret of the tests"


class Gateway:
    """A server with one bucket; its objects are files in a directory."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._program, self._directory = program, directory
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        (directory / "data" / BUCKET).mkdir(parents=True)
        self.start()

    def start(self) -> None:
        credentials = {"ROOT_ACCESS_KEY": LOGIN, "ROOT_SECRET_KEY": PASSWORD}
        command = [self._program, "--port", f"127.0.0.1:{self.port}", "--quiet", "posix", self._directory / "data"]
        with (self._directory / "gateway.log").open("a") as log:
            self.process = subprocess.Popen(command, env=os.environ | credentials, stdout=log, stderr=log)
        until(self._answers, "the object store answers", seen=(self._directory / "gateway.log").read_text)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            obstore.list_with_delimiter(self.client())
        except obstore.exceptions.BaseError:
            return False
        return True

    def client(self) -> S3Store:
        config = {"aws_endpoint": self.endpoint, "aws_region": "us-east-1"}
        config |= {"aws_access_key_id": LOGIN, "aws_secret_access_key": PASSWORD}
        return S3Store(BUCKET, config=config, client_options={"allow_http": True}, retry_config={"max_retries": 0})

    def put(self, key: str, content: bytes | Path) -> None:
        obstore.put(self.client(), key, content)

    def delete(self, key: str) -> None:
        obstore.delete(self.client(), key)

    def connection(self, **changes: str) -> str:
        """An Airflow connection to it, as the environment has it."""
        extra = {"endpoint_url": self.endpoint, "region_name": "us-east-1", "allow_http": True}
        declared = {"conn_type": "aws", "login": LOGIN, "password": PASSWORD, "extra": extra}
        return json.dumps(declared | changes)


def program() -> Path:
    """Return the server's program, built once for all tests."""
    target = _target()
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / ".lock"):  # tests run in several processes
        if not target.exists():
            _build(target)
    return target


def installed() -> Path | None:
    """Return the server's program if it is there."""
    return target if (target := _target()).exists() else None


def _target() -> Path:
    return Path.home() / ".cache" / "tailrace" / _MODULE.rpartition("/")[2] / "versitygw"


def _build(target: Path) -> None:
    if shutil.which("go") is None:
        pytest.fail("the program go is missing, which builds the server; see https://go.dev/doc/install", pytrace=False)
    with tempfile.TemporaryDirectory(dir=target.parent) as built:
        command, places = ["go", "install", _MODULE], os.environ | {"GOBIN": built}
        done = subprocess.run(command, env=places, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            pytest.fail(f"the server is not built; type: {' '.join(command)}\n{done.stderr[-2000:]}", pytrace=False)
        Path(built, target.name).rename(target)


@contextmanager
def running_gateway(directory: Path) -> Iterator[Gateway]:
    """A server that is killed at the end."""
    gateway = Gateway(program(), directory)
    try:
        yield gateway
    finally:
        gateway.stop()
