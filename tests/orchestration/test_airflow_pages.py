"""The commands of Airflow on the pages: its own parser takes them, and a form takes the fields of their conf."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from airflow.cli.cli_parser import get_parser

from kit.fakes.fake_host import declare
from kit.suite.doc_pages import WRITTEN, blocks, words
from tailrace.ground.errors import Refused
from tailrace.orchestration.correction_dags import correction_dags
from tailrace.orchestration.correction_operators import event_range
from tailrace.orchestration.form import check_conf

COMMANDS = [
    parts
    for text in WRITTEN.values()
    for block in blocks(text)
    if block.is_shell
    for parts in map(words, block.commands)
    if parts[:1] == ["airflow"]
]
CONFS = [json.loads(parts[parts.index("--conf") + 1]) for parts in COMMANDS if "--conf" in parts]


def test_the_parser_of_airflow_takes_each_command_of_a_page(capsys):
    parser = get_parser()
    assert len(COMMANDS) >= 8
    for parts in COMMANDS:
        parser.parse_args(parts[1:])
    with pytest.raises(SystemExit):
        parser.parse_args(["dags", "trigger", "correct_sales", "--config", "{}"])
    capsys.readouterr()


def test_the_form_of_a_correction_takes_the_range_of_the_page(place):
    declare(place / "queries", "sales")
    dag = correction_dags()["correct_sales"]

    def context(conf):
        params = {name: conf.get(name) for name in dag.params}
        return {"dag": dag, "dag_run": SimpleNamespace(conf=conf), "params": params}

    assert CONFS
    for conf in CONFS:
        check_conf(context(conf))
        assert event_range(context(conf)) == (conf["from"], conf["to"])
    with pytest.raises(Refused, match="conf: start"):
        check_conf(context({"start": CONFS[0]["from"]}))
