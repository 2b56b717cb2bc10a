"""docker-compose.yaml: a file by the Compose Specification, in which nothing is anonymous, root or beyond loopback."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib

import jsonschema
import pytest
import yaml

from kit.parts.compose import FILE, ROOT, required_variables, services
from tailrace import __version__
from tailrace.drivers.spark_daemon import _parser
from tailrace.embedded.airflow_parts import API_SERVER, PARTS

SECRETS = {"PASSWORD", "SECRET", "KEY"}


def test_it_keeps_the_schema_of_the_compose_specification():
    schema = json.loads((ROOT / "tests" / "data" / "compose-spec.json").read_text())
    document = yaml.safe_load(FILE.read_text())
    jsonschema.validate(document, schema)
    document["services"]["postgres"]["restarts"] = "always"
    with pytest.raises(jsonschema.ValidationError, match="restarts"):
        jsonschema.validate(document, schema)


def has_compose() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_compose(), reason="no `docker compose` here to ask")
def test_docker_reads_it(tmp_path):
    environment = tmp_path / ".env"
    environment.write_text("".join(f"{name}=x\n" for name in required_variables()))
    command = ["docker", "compose", "--env-file", str(environment), "-f", str(FILE), "config", "--quiet"]
    subprocess.run(command, check=True)


def test_every_secret_is_required_and_the_example_gives_none():
    lines = (ROOT / ".env.example").read_text().splitlines()
    example = dict(line.split("=") for line in lines if not line.startswith("#"))
    assert example == dict.fromkeys(required_variables(), "")
    assert "${" not in re.sub(r"\$\{[A-Z_]+:\?[^}]+\}", "", FILE.read_text()), "no default, and nothing optional"
    for name, service in services().items():
        for variable, value in service.get("environment", {}).items():
            if SECRETS & set(variable.split("_")) and not variable.endswith("_FILE"):
                assert re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", value), f"{name}: {variable}"


def test_the_api_server_returns_memory_as_the_embedded_one_does():
    assert services()["airflow-api-server"]["environment"].items() >= API_SERVER.items()
    assert not services()["airflow-scheduler"]["environment"].keys() & API_SERVER.keys()


@pytest.mark.parametrize("name", services())
def test_each_service_is_bounded_supervised_and_no_root(name):
    service = services()[name]
    assert service["user"] not in ("root", "0", "0:0")
    assert service["cap_drop"] == ["ALL"]
    assert service["restart"] in ("unless-stopped", "on-failure:3")
    limits = service["deploy"]["resources"]["limits"]
    assert limits.keys() == {"cpus", "memory"}
    assert "healthcheck" in service or name == "airflow-init"
    assert "inside" in service["networks"]
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:")
    assert "ports" in service or service["networks"] == ["inside"], "only who publishes a port is on another network"


@pytest.mark.parametrize("name", services())
def test_the_log_of_each_service_is_bounded(name):
    logging = services()[name]["logging"]
    assert logging["driver"] == "json-file"
    assert re.fullmatch(r"\d+m", logging["options"]["max-size"])
    assert int(logging["options"]["max-file"]) > 1


NEEDED = {
    "postgres": {"POSTGRES_PASSWORD"},
    "kafka": {"KAFKA_PASSWORD", "KAFKA_BROKER_PASSWORD"},
    "airflow-init": {"POSTGRES_PASSWORD", "AIRFLOW_ADMIN_PASSWORD"},
    "airflow-api-server": {"POSTGRES_PASSWORD", "AIRFLOW_FERNET_KEY", "AIRFLOW_JWT_SECRET", "AIRFLOW_API_SECRET"}
    | {"DRIVER_HOST_PASSWORD"},
    "airflow-scheduler": {"POSTGRES_PASSWORD", "AIRFLOW_FERNET_KEY", "AIRFLOW_JWT_SECRET", "DRIVER_HOST_PASSWORD"}
    | {"KAFKA_PASSWORD", "SPARK_SECRET"},
    "airflow-dag-processor": {"POSTGRES_PASSWORD", "AIRFLOW_FERNET_KEY"},
    "airflow-triggerer": {"POSTGRES_PASSWORD", "AIRFLOW_FERNET_KEY", "DRIVER_HOST_PASSWORD"},
    "driver-host": {"DRIVER_HOST_PASSWORD", "SPARK_SECRET"},
    "spark-master": {"SPARK_SECRET"},
    "spark-worker-1": {"SPARK_SECRET"},
    "spark-worker-2": {"SPARK_SECRET"},
}
"""The secrets of each service: what reads users' query files or parses DAGs has few of them."""


def test_each_service_has_the_secrets_that_it_needs_and_no_others():
    given = {name: set(re.findall(r"\$\{(\w+)", json.dumps(service))) for name, service in services().items()}
    assert given == NEEDED


def test_queries_read_what_lies_in_the_volume_of_sources_and_the_sample_alone():
    roots = "/srv/sources:/opt/tailrace/samples"
    readers = {name for name, service in services().items() if "sources:/srv/sources:ro" in service.get("volumes", ())}
    assert {name for name, service in services().items() if "TAILRACE_SOURCES" in service.get("environment", {})} == {
        *readers,
        "airflow-init",
    }
    assert {"airflow-scheduler", "driver-host", "spark-worker-1", "spark-worker-2"} <= readers
    assert {services()[name]["environment"]["TAILRACE_SOURCES"] for name in readers} == {roots}


def test_the_folder_of_query_files_is_mounted_where_the_image_has_it_and_airflow_looks_for_it():
    """Relative paths in a file lead from there to the sample, as they do in the checkout."""
    readers = {name for name, service in services().items() if "TAILRACE_QUERIES" in service.get("environment", {})}
    mounted = "/opt/tailrace/include/queries"
    for name in (readers | {"driver-host"}) - {"airflow-init"}:
        volumes = dict(volume.split(":", 1) for volume in services()[name]["volumes"])
        assert volumes["./include/queries"] == f"{mounted}:ro", name
    assert {services()[name]["environment"]["TAILRACE_QUERIES"] for name in readers} == {mounted}
    assert {"airflow-scheduler", "airflow-dag-processor", "airflow-triggerer", "airflow-api-server"} <= readers
    assert (ROOT / "include" / "queries").is_dir()


def test_the_connection_to_the_broker_has_its_address():
    connection = json.loads(services()["airflow-scheduler"]["environment"]["AIRFLOW_CONN_TAILRACE_KAFKA"])
    advertised = services()["kafka"]["environment"]["KAFKA_ADVERTISED"]
    assert advertised == f"CLIENT://{connection['extra']['bootstrap.servers']}"


def test_uv_is_pinned_to_one_release_everywhere():
    files = (ROOT / "docker" / "Dockerfile", ROOT / "tools" / "setup.sh")
    pins = [re.findall(r"\buv[=<>~]=?\S+?(?=')", file.read_text()) for file in files]
    assert pins[0] == pins[1]
    assert re.fullmatch(r"uv==\d+\.\d+\.\d+", *pins[0])


def test_the_network_of_all_services_has_no_way_out():
    assert yaml.safe_load(FILE.read_text())["networks"]["inside"] == {"internal": True}


def test_airflows_components_are_those_of_the_embedded_airflow():
    commands = [service["command"] for service in services().values() if service.get("command", [""])[0] == "airflow"]
    assert sorted(map(tuple, (command[1:] for command in commands))) == sorted(PARTS)


def test_sparks_daemons_have_known_options():
    commands = [service.get("command", []) for service in services().values()]
    daemons = [command[3:] for command in commands if "tailrace.drivers.spark_daemon" in command]
    assert [_parser().parse_args(words).role for words in daemons] == ["master", "worker", "worker"]


def test_the_notes_of_sparks_master_outlive_its_container():
    master = services()["spark-master"]
    directory = _parser().parse_args(master["command"][3:]).recovery_dir
    assert str(directory) in [volume.partition(":")[2] for volume in master["volumes"]]


def test_each_image_is_pinned_to_a_release():
    bases = re.findall(r"^FROM (\S+)", (ROOT / "docker" / "Dockerfile").read_text(), re.MULTILINE)
    images = {*bases, *(service["image"] for service in services().values())}
    assert images
    assert not [image for image in images if not re.search(r"^postgres:\d+\.\d+$|:\d+\.\d+\.\d+(-[a-z-]+)?$", image)]


def test_the_image_goes_by_the_lock_and_has_what_the_services_need():
    text = (ROOT / "docker" / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "uv sync --locked" in text
    extras = re.findall(r"--extra (\w+)", text)
    assert {*extras} == {"airflow", "emd", "external", "fast", "kafka", "postgres", "spark", "spatial", "sql"}
    assert set(extras) <= project["optional-dependencies"].keys()
    assert text.count("\nUSER tailrace\n") == 1
    copied = re.findall(r"^COPY --chown=\S+ (.+) \S+$", text, re.MULTILINE)
    for path in " ".join(copied).split():
        assert (ROOT / path).exists(), path
        assert f"!{path}" in (ROOT / ".dockerignore").read_text().splitlines()
    assert services()["driver-host"]["image"] == f"tailrace:{__version__}"
    for volume in re.findall(r":(/srv/\w+)", FILE.read_text()):
        assert volume in text, "a new volume belongs to whom the image gave its directory"
