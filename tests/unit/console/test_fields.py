"""The fields of the panels' answers that the pages read are fields that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel

import tailrace.console
from tailrace.panels.kind import READERS
from tailrace.panels.registry import PANELS

PARTS = Path(tailrace.console.__file__).parent / "static" / "parts"
READS = {panel.name: panel.read for panel in PANELS if panel.name != "kind"}
READS |= {f"kind_{kind}": read for kind, read in READERS.items()}
OF_DATA = re.compile(r"\bdata\??\.([A-Za-z_]\w*)")


def models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a type holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_of(field.annotation)
    for argument in get_args(annotation):
        yield from models_of(argument)


def fields_of(read: Any) -> set[str]:
    """Return the names of all fields of a panel's answer, as JSON has them."""
    fields = [each for model in models_of(get_type_hints(read)["return"]) for each in model.model_fields.items()]
    return {field.serialization_alias or name for name, field in fields}


@pytest.mark.parametrize("part", READS)
def test_a_part_reads_the_fields_that_its_panel_has(part):
    read = set(OF_DATA.findall((PARTS / f"{part}.js").read_text()))
    assert read, "a pattern that finds nothing would find no fault"
    assert read - fields_of(READS[part]) == set()


def test_a_field_that_there_is_not_would_be_found():
    assert {"facts_total", "from"} & fields_of(READS["settings"]) == {"facts_total"}
    assert "newesttotal" not in fields_of(READS["settings"])
    assert "from" in fields_of(READS["ledger"])
