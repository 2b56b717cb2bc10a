"""The package as an Airflow provider: what Airflow lists, its connection's form and test, and the links."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from airflow.providers_manager import ProvidersManager
from airflow.serialization.serialized_objects import DagSerialization

from kit.parts.airflow_home import HOME
from kit.suite.waiting import PATIENCE_S
from tailrace import __version__
from tailrace.embedded import embedded_processes as embedded_module
from tailrace.embedded.embedded_processes import CONFIGURATION, EmbeddedHost
from tailrace.ground.errors import Refused
from tailrace.orchestration import driver_host_hook, settings
from tailrace.orchestration.driver_host_hook import DriverHostHook
from tailrace.orchestration.links import PAGES
from tailrace.orchestration.provider import get_provider_info
from tailrace.orchestration.stream_dags import stream_dags

pytestmark = pytest.mark.needs("process")

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    with EmbeddedHost(tmp_path_factory.mktemp("host")) as embedded:
        yield embedded


@pytest.fixture
def connect(embedded, monkeypatch):
    """Sets the connection: that of the driver host, but for the given fields."""

    def set_connection(**fields):
        access = embedded.access
        connection = {
            "conn_type": "tailrace_driver_host",
            "host": access.host,
            "port": access.port,
            "login": access.user,
            "password": access.password,
            "extra": {"programs": str(embedded.directory / "programs")},
        } | fields
        monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_DRIVER_HOST", json.dumps(connection))

    return set_connection


@pytest.fixture
def airflow(tmp_path):
    """Runs `airflow …` where this package is installed: its metadata have the entry points of pyproject.toml."""
    metadata = tmp_path / f"tailrace-{__version__}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tailrace\nVersion: {__version__}\n")
    lines = [
        f"[{group}]\n{name} = {target}\n"
        for group, points in PROJECT["entry-points"].items()
        for name, target in points.items()
    ]
    (metadata / "entry_points.txt").write_text("".join(lines))
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {"AIRFLOW_HOME": HOME, "PYTHONPATH": path, "AIRFLOW__CORE__TEST_CONNECTION": "Enabled"}

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "airflow", *words],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return run


def test_airflow_lists_the_provider_and_its_hook(airflow):
    providers = json.loads(airflow("providers", "list", "-o", "json").stdout)
    assert [each["version"] for each in providers if each["package_name"] == "tailrace"] == [__version__]
    hooks = json.loads(airflow("providers", "hooks", "-o", "json").stdout)
    [hook] = [each for each in hooks if each["connection_type"] == "tailrace_driver_host"]
    assert hook["class"] == "tailrace.orchestration.driver_host_hook.DriverHostHook"


def test_the_provider_info_fits_airflows_schema_and_names_what_exists():
    info = get_provider_info()
    ProvidersManager()._provider_schema_validator.validate(info)
    [connection_type] = info["connection-types"]
    assert connection_type["connection-type"] == driver_host_hook.CONNECTION == DriverHostHook.conn_type
    classes = [connection_type["hook-class-name"], *info["extra-links"], *info["notifications"]]
    for module, _, name in (path.rpartition(".") for path in classes):
        assert getattr(import_module(module), name)
    for section in ("operators", "hooks", "triggers"):
        for module in info[section][0]["python-modules"]:
            import_module(module)


def test_airflow_tests_the_connection_on_a_running_driver_host(airflow, connect):
    connect()
    run = airflow("connections", "test", "tailrace_driver_host")
    assert "Connection success!" in run.stdout, run.stderr


def test_a_connection_leads_to_its_driver_host(connect, embedded):
    connect()
    assert DriverHostHook().test_connection()[0]
    assert settings.driver_host().inspect("readings").state == "absent"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"password": "wrong"}, "it answers 401"),
        ({"port": 1}, "Connection refused"),
        ({"extra": {"programs": "/nowhere"}}, "programs /nowhere: no directory"),
        ({"extra": {}}, "no absolute path of `programs`"),
        ({"extra": {"programs": None}}, "no absolute path of `programs`"),
        ({"host": None}, "it has no host"),
    ],
)
def test_a_wrong_connection_fails_its_test_and_says_why(connect, fields, message):
    connect(**fields)
    works, text = DriverHostHook().test_connection()
    assert not works
    assert message in text


def test_a_supervisord_with_pages_fails_its_test_and_says_what_is_missing(tmp_path, connect, monkeypatch):
    part = CONFIGURATION[CONFIGURATION.index("[rpcinterface:tailrace]") : CONFIGURATION.index("[include]")]
    monkeypatch.setattr(embedded_module, "CONFIGURATION", CONFIGURATION.replace(part, ""))
    with EmbeddedHost(tmp_path / "host") as open_host:
        access = open_host.access
        connect(port=access.port, password=access.password, extra={"programs": str(open_host.directory / "programs")})
        works, text = DriverHostHook().test_connection()
    assert not works
    assert "has pages, which stop drivers on a GET" in text
    assert "[rpcinterface:tailrace]" in text


def test_a_missing_connection_is_refused_with_the_command_of_its_own_type(place):
    with pytest.raises(Refused, match="--conn-type tailrace_driver_host --conn-host"):
        settings.driver_host()


def test_airflow_loads_the_plugin_that_has_the_page_of_the_link(airflow, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__PLUGINS_FOLDER", str(Path(__file__).parents[2] / "plugins"))
    plugins = json.loads(airflow("plugins", "-o", "json").stdout)
    (ours,) = [plugin for plugin in plugins if plugin["name"] == "tailrace"]
    assert PAGES in str(ours["fastapi_apps"])
    assert {view["destination"] for view in ours["external_views"]} == {"nav", "dag", "dag_run"}


def test_tasks_link_to_the_drivers_log_and_to_the_tables(place, monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://airflow:8080/")
    dag = stream_dags()["stream_readings"]
    supervise = dag.get_task("supervise")
    links = {link.name: link.get_link(supervise, ti_key=None) for link in supervise.operator_extra_links}
    assert links == {
        "Stream": "http://airflow:8080/tailrace/queries/readings?part=frontier",
        "Driver log": "http://airflow:8080/tailrace/driver_log/stream_readings",
        "Tables": "http://airflow:8080/assets?name_pattern=readings.",
    }
    restored = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task("supervise")
    assert {link.name for link in restored.operator_extra_links} == set(links)
