"""The language of the product: docstrings of functions begin with a verb, and a few words stay exceptions.

Read over the syntax tree, without importing anything. A property is named as an attribute is, so its docstring may be a
noun phrase, and is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "include" / "tailrace"
PRODUCT = ["include", "dags", "plugins", "spark_apps", "README.md", "docs"]

#: Imperatives with which the first line of a docstring may begin.
VERBS = frozenset(
    re.findall(
        r"\S+",
        """
        Accept Acquire Act Add Address Adopt Advance Aggregate Allow Amend Answer Append Apply Ask Assign Attach
        Begin Bind Bring Build Cache Calibrate Call Cancel Cast Check Choose Claim Classify Close Collect
        Combine Compact Compare Compile Complete Compute Concatenate Confirm Connect Continue Convert Copy
        Correct Count Cover Create Cut Darken Deal Decide Declare Decode Defer Delete Deliver Deploy Derive
        Describe Deserialize Dictionary-encode Distribute Divide Do Drain Draw Drop Encode End Enumerate Escape
        Estimate Evaluate Execute Expand Explain Fetch Fill Find Floor Fold Follow Forget Format Free Generate
        Get Give Group Halve Handle Hash Hold Identify Ignore Import Index Insert Install Join Judge Keep Kill
        Label Lead Leave Lend Let List Load Locate Log Look Lower Make Map Mark Match Measure Merge Migrate Move
        Name Normalise Note Notify Number Observe Open Order Pack Parse Partition Pass Pause Plan Play Poll Post
        Postpone Prepare Prepend Print Process Project Propose Prune Publish Put Raise Re-raise Read Rebuild
        Receive Record Reduce Refuse Register Reject Release Remove Rename Renew Renumber Repair Repeat Replace
        Replay Report Request Require Reserve Resolve Restart Restore Resume Return Rewrite Rotate Round Route
        Run Sample Save Say Scale Search See Select Send Serialize Serve Set Show Simulate Skip Solve Sort Split
        Start Stop Store Submit Subtract Sum Swap Take Tell Test Time Translate Trigger Trim Truncate Turn Unite
        Unpack Unpause Update Upload Upsert Use Validate Verify Wait Watch Weigh Widen Wrap Write Yield
        """,
    )
)
PROPERTIES = {"property", "cached_property"}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a file that have a docstring and are no property."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            decorators = {getattr(each, "id", getattr(each, "attr", "")) for each in node.decorator_list}
            if not decorators & PROPERTIES:
                yield node


def first_word(docstring: str) -> str:
    return docstring.split(maxsplit=1)[0].rstrip(",.:;")


def product_texts() -> Iterator[tuple[Path, str]]:
    for part in PRODUCT:
        place = ROOT / part
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        yield from ((file, file.read_text()) for file in files if file.suffix in {".py", ".md"})


def test_docstrings_of_functions_begin_with_a_verb():
    found, others = 0, []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in functions(ast.parse(file.read_text())):
            found += 1
            if first_word(ast.get_docstring(node) or "") not in VERBS:
                others.append(f"{file.relative_to(PACKAGE)}:{node.lineno} {node.name}")
    assert found > 2000
    assert len(others) <= 0.1 * found, "\n".join(others)


@pytest.mark.parametrize(
    ("words", "most"),
    [(r"\b(told|tells?)\b", 40), (r"\b(that|those)\s+of\b", 30)],
    ids=["told", "that of"],
)
def test_a_word_that_makes_riddles_stays_an_exception(words, most):
    places = [
        f"{file.relative_to(ROOT)}: {text[max(0, match.start() - 40) : match.end() + 40]!r}"
        for file, text in product_texts()
        for match in re.finditer(words, text, re.IGNORECASE)
    ]
    assert len(places) <= most, "\n".join(places)
