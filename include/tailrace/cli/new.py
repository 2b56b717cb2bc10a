"""The command that writes a commented template of a query file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.local_paths import local_path
from tailrace.cli.new_file import require_new, write_new
from tailrace.terminal import screen


class KindName(StrEnum):
    aggregate = "aggregate"
    topk = "topk"
    emd_join = "emd_join"
    spatial_join = "spatial_join"


def new(
    kind: Annotated[KindName, typer.Argument(help="The kind of query.")],
    output: Annotated[
        Path | None, typer.Option(help="The file to write; absent: KIND.yaml.", callback=local_path)
    ] = None,
) -> None:
    """Write a commented template of a query file, which validates as it is; no file is ever replaced."""
    from tailrace.advice.templates import TEMPLATES

    file = Path(f"{kind.value}.yaml") if output is None else output
    require_new(file)
    write_new(file, TEMPLATES[kind.value])
    screen.out.print(
        f"wrote {file}: write your source and its columns in the lines marked YOURS", markup=False, soft_wrap=True
    )
