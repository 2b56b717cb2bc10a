"""Spark's own submission to Kubernetes, against an API server that keeps pods and no more: the pod that it asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.applications import platform_of, tag_of
from tailrace.spark.local_master import spark_home

APP = Path(__file__).parents[2] / "spark_apps" / "stream.py"
PODS = "/api/v1/namespaces/streams/pods"


class ApiServer:
    """Pods of the namespace `streams` by name; anything else that is created is taken, and forgotten."""

    def __init__(self) -> None:
        self.pods: dict[str, dict] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, value = server.answer(self.command, urlsplit(self.path), json.loads(body or b"{}"))
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, method: str, url, body: dict) -> tuple[int, dict]:
        if method == "POST" and url.path == PODS:
            if body["metadata"]["name"] in self.pods:
                return 409, {"kind": "Status", "code": 409, "reason": "AlreadyExists"}
            body["metadata"]["uid"] = f"uid-{len(self.pods)}"
            body["status"] = {"phase": "Pending"}
            self.pods[body["metadata"]["name"]] = body
            return 201, body
        if method == "GET" and url.path == PODS:
            name, _, value = parse_qs(url.query).get("labelSelector", [""])[0].partition("=")
            found = [pod for pod in self.pods.values() if not name or pod["metadata"]["labels"].get(name) == value]
            return 200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": found}
        name = url.path.removeprefix(f"{PODS}/")
        if name in self.pods:
            return 200, self.pods.pop(name) if method == "DELETE" else self.pods[name]
        if method == "GET":
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound"}
        return 200, body


@pytest.fixture
def api() -> Iterator[ApiServer]:
    api = ApiServer()
    thread = threading.Thread(target=api.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield api
    api.http.shutdown()
    api.http.server_close()
    thread.join()


def test_the_pod_has_the_name_the_labels_and_the_app_and_its_end_is_the_programs(api, tmp_path):
    home, submitted = tmp_path / "wh" / "flights", f"local://{tmp_path}/wh/flights/_stream/submitted"
    conf = {
        "spark.kubernetes.namespace": "streams",
        "spark.kubernetes.container.image": "lake/tailrace:1",
        "spark.kubernetes.driver.secretKeyRef.AIRFLOW_CONN_BROKER": "tailrace:broker",
        "spark.authenticate": "true",
    }
    words = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    submit = [f"{spark_home()}/bin/spark-submit", "--master", f"k8s://{api.url}", "--deploy-mode", "cluster", *words]
    submit += ["--py-files", f"{submitted}/tailrace_package.zip", f"{submitted}/stream.py", "flights.yaml"]
    module = [sys.executable, "-m", "tailrace.drivers.cluster_submission", "--home", str(home), "--app", str(APP)]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "TAILRACE_DRIVER": f"{home}#start7"}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*module, "--", *submit], env=environment, stdout=log, stderr=log)
    try:
        until(lambda: api.pods or process.poll() is not None)
        assert api.pods, (tmp_path / "log").read_text()
        [pod] = api.pods.values()
        tag = tag_of(home)
        assert pod["metadata"]["name"] == f"{tag}-driver"
        assert pod["metadata"]["labels"].items() >= {"tailrace-query": tag, "tailrace-start": "start7"}.items()
        [container] = pod["spec"]["containers"]
        assert container["image"] == "lake/tailrace:1"
        assert container["args"][-2:] == [f"{submitted}/stream.py", "flights.yaml"]
        [secret] = [variable for variable in container["env"] if variable["name"] == "AIRFLOW_CONN_BROKER"]
        assert secret["valueFrom"]["secretKeyRef"] == {"key": "broker", "name": "tailrace"}
        assert pod["spec"]["restartPolicy"] == "Never", "the launcher counts the restarts"
        [application] = platform_of(home).applications()
        assert (application.start, application.over) == ("start7", False)
        terminated = {"state": {"terminated": {"exitCode": 75, "reason": "Error"}}}
        pod["status"] = {"phase": "Failed", "containerStatuses": [terminated]}
        assert process.wait(PATIENCE_S) == 75
    finally:
        process.kill()
        process.wait()
