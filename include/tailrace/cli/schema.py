"""The command that prints the JSON Schema of query files."""

from __future__ import annotations

from json import dumps

from tailrace.cli.arguments import Output
from tailrace.terminal.output_file import open_output


def schema(
    output: Output = None,
) -> None:
    """Print the JSON Schema of query files: an editor completes and checks them with it."""
    from tailrace.query.json_schema import json_schema

    text = dumps(json_schema(), indent=2, ensure_ascii=False)
    if output is None:
        print(text)
        return
    with open_output(output) as file:
        file.write(f"{text}\n".encode())
