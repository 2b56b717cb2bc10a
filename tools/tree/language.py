"""The language of the product: docstrings of functions begin with a verb, and a few words stay exceptions.

Read over the syntax tree, without importing anything. A property is named as an attribute is, so its docstring may be a
noun phrase, and is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rooms import TOOLS
from tailrace.ground.errors import Problem

PRODUCT = ("include", *(f"tools/{room}" for room in TOOLS), "dags", "plugins", "spark_apps", "README.md", "docs")
WORDS = (("told, tells", r"\b(told|tells?)\b", 40), ("that of, those of", r"\b(that|those)\s+of\b", 30))
"""Words that make riddles, their pattern, and how often they may stand."""
OTHERS = 0.1
"""The share of docstrings that may begin with another word."""
_SHOWN = 20

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
    """Return the word with which a docstring begins."""
    return docstring.split(maxsplit=1)[0].rstrip(",.:;")


def product_texts(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of code and text that a user may read, each with its text."""
    for part in PRODUCT:
        place = root / part
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        yield from ((file, file.read_text()) for file in files if file.suffix in {".py", ".md"})


def docstrings(root: Path) -> Iterator[Problem]:
    """Yield the package where too many docstrings of functions begin with another word."""
    found, others = 0, []
    for file in sorted((root / "include" / "tailrace").rglob("*.py")):
        for node in functions(ast.parse(file.read_text())):
            found += 1
            if first_word(ast.get_docstring(node) or "") not in VERBS:
                others.append(f"{file.relative_to(root)}:{node.lineno} {node.name}")
    if len(others) > OTHERS * found:
        fault = f"of {found} docstrings of functions {len(others)} begin with no verb{_listed(others)}"
        yield Problem("include/tailrace", fault, f"at most a share of {OTHERS}; VERBS of {__name__} has the verbs")


def exceptions(root: Path) -> Iterator[Problem]:
    """Yield the words that stand more often than an exception does."""
    texts = [*product_texts(root)]
    for name, pattern, most in WORDS:
        places = [
            f"{file.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
            for file, text in texts
            for match in re.finditer(pattern, text, re.IGNORECASE)
        ]
        if len(places) > most:
            fault = f"{name}: {len(places)} times, more than {most}{_listed(places)}"
            yield Problem(", ".join(PRODUCT), fault, "who says what, or the thing itself")


def _listed(places: list[str]) -> str:
    """Return the first places, each on a line."""
    left = [f"… and {len(places) - _SHOWN} more"] if len(places) > _SHOWN else []
    return "".join(f"\n        {place}" for place in places[:_SHOWN] + left)
