"""The command lines of Airflow on every page: Airflow's own parser takes them."""

from __future__ import annotations

import pytest
from airflow.cli.cli_parser import get_parser

from kit.suite.doc_pages import WRITTEN, blocks, inline_commands, words

FENCED = [
    (page, line)
    for page, text in WRITTEN.items()
    for block in blocks(text)
    if block.is_shell
    for line in block.commands
    if words(line)[:1] == ["airflow"]
]
INLINE = [(page, line) for page, text in WRITTEN.items() for line in inline_commands(text, "airflow")]
PARSER = get_parser()


def fault_of(parts: list[str], capsys: pytest.CaptureFixture[str]) -> str | None:
    """Return what Airflow's parser says against a command."""
    try:
        PARSER.parse_args(parts)
    except SystemExit:
        return capsys.readouterr().err
    return None


@pytest.mark.parametrize(("page", "line"), FENCED, ids=[f"{page}: {line[:50]}" for page, line in FENCED])
def test_a_command_in_a_block_is_one_of_airflow(page, line, capsys):
    assert fault_of(words(line)[1:], capsys) is None


@pytest.mark.parametrize(("page", "line"), INLINE, ids=[f"{page}: {line[:50]}" for page, line in INLINE])
def test_a_command_in_the_text_begins_as_one_of_airflow(page, line, capsys):
    """It may leave out what it requires, so its first words are asked for help, and its options must stand there."""
    parts = [part for part in words(line)[1:] if part != "…"]
    names = [part for part in parts[:2] if part.isalpha()]
    with pytest.raises(SystemExit) as left:
        PARSER.parse_args([*names, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert [part for part in parts if part.startswith("--") and part not in said] == []


def test_there_are_commands_and_wrong_ones_are_found(capsys):
    assert len(FENCED) >= 8
    assert len(INLINE) >= 8
    assert "invalid choice" in (fault_of(["dags", "triger", "a"], capsys) or "")
    assert "--from-date" in (
        fault_of(["backfill", "create", "--dag-id", "a", "--frm-date", "2026-11-23"], capsys) or ""
    )
