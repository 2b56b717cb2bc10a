"""The tests that no import leads to: of real parts, of data and of pages, by the files that they hold.

A pattern matches a whole path, and `*` any part of it, slashes too.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """Files, the tests that hold them too, and why; a helper of tests stands for the tests that import it."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    why: str


def rooms(*patterns: str) -> tuple[str, ...]:
    """Return patterns of the package's files, given without its directory."""
    return tuple(f"include/tailrace/{pattern}" for pattern in patterns)


ALWAYS = Row(("*",), ("tests/gate/*",), "are the gate's own: every kind on Spark, DAG files, the command line")

TABLE = (
    Row(("pyproject.toml", "uv.lock"), ("tests/*",), "run with these packages and settings"),
    Row(
        (*rooms("spark/*", "engine/*", "storage/*", "stream/*"), "spark_apps/*"),
        ("tests/spark/*",),
        "run it on Spark",
    ),
    Row(
        (
            *rooms(
                "kernels/*", "windows/*", "partition/*", "disorder/*", "answers/*", "operators/*", "kind/*", "kinds.py"
            ),
            *rooms("functions/*", "aggregate/*", "topk/*", "emd_join/*", "spatial_join/*", "engine/*"),
        ),
        ("tests/contract/*",),
        "hold what every kind keeps",
    ),
    Row(
        rooms(
            *("kernels/*", "windows/*", "partition/*", "disorder/*", "answers/*", "operators/*", "engine/*"),
            *("functions/*", "aggregate/*", "topk/*", "correction/*"),
        ),
        ("tests/properties/*",),
        "draw whole queries, and hold their corrections and promises",
    ),
    Row(
        rooms("sources/*", "query/*", "engine/*", "storage/*", "correction/*"),
        ("tests/unit/engine/*", "tests/unit/stream/*"),
        "run it in a stream",
    ),
    Row(
        (*rooms("sources/kafka*", "delivery/*topic*"), "tools/bench/kafka/*"),
        ("tests/kafka/*", "tests/spark/test_kafka.py"),
        "need a broker",
    ),
    Row(
        rooms(
            "delivery/*",
            "sources/lookup/*",
            "spatial_join/*",
        ),
        ("tests/answers_postgres/*",),
        "need a PostgreSQL server, for answers and for tables to look up",
    ),
    Row(
        rooms(
            "ground/files/object*",
            "ground/connections.py",
            "sources/discovery/object*",
            "storage/*",
            "stream/delivery.py",
        ),
        ("tests/objects/*", "tests/spark/test_bucket.py", "tests/spark/test_object_store.py"),
        "need an object store",
    ),
    Row(
        (*rooms("console/*", "panels/*"), "plugins/*"),
        ("tests/pages/*", "tests/unit/console/*", "tests/orchestration/test_console*"),
        "open the console: pages in a browser, routes, rights",
    ),
    Row(
        (*rooms("drivers/*", "embedded/*", "orchestration/*"), "dags/*", "plugins/*"),
        ("tests/orchestration/*", "tests/dags/*", "tests/e2e/test_[!c]*"),
        "need Airflow, or a driver host",
    ),
    Row(
        rooms(
            "drivers/yarn*", "drivers/kubernetes*", "drivers/cluster*", "drivers/submission*", "orchestration/submit*"
        ),
        ("tests/yarn/*", "tests/spark/test_cluster.py", "tests/spark/test_kubernetes_submission.py"),
        "run a driver in a cluster",
    ),
    Row(
        ("deploy/*", "docker/*", "docker-compose.yaml", "tests/kit/parts/compose*", *rooms("drivers/spark_daemon.py")),
        ("tests/e2e/test_compose.py", "tests/unit/deploy/*"),
        "start the services of docker-compose.yaml",
    ),
    Row(
        rooms("advice/*", "api/*", "panels/*", "query/*", "sources/*", "terminal/*", "__main__.py"),
        ("tests/unit/cli/*",),
        "show it by commands",
    ),
    Row((*rooms("__init__.py"), "docs/python.md"), ("tests/unit/api/*",), "use the Python API"),
    Row(
        ("docs/*", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "include/examples/*", "tools/docs_site/*"),
        ("tests/kit/suite/doc_pages.py", "tests/unit/docs/*", "tests/orchestration/test_airflow_on_pages.py"),
        "read every page",
    ),
    Row(("include/examples/*",), ("tests/unit/cli/test_examples.py",), "run the examples"),
    Row(
        ("include/queries/*", "samples/*"),
        ("tests/unit/demo/*", "tests/unit/test_samples.py"),
        "read it in the demonstration",
    ),
    Row(("tests/data/expressions/*",), ("tests/*/test_expressions.py",), "compute the lines of expressions"),
    Row(("tools/guards*", "tools/tree/*"), ("tests/unit/test_tree.py",), "hold the rules of the tree"),
    Row(("tools/chaos/*",), ("tests/unit/test_chaos.py",), "hold the tally of faults"),
    Row(("tools/touched/*",), ("tests/unit/test_touched.py",), "hold this choice"),
    Row(
        ("tools/wheel.sh", "LICENSE", "README.md", "pyproject.toml", "dags/*", "plugins/*", "spark_apps/*"),
        ("tests/gate/test_wheel.py",),
        "look into the wheel",
    ),
)
