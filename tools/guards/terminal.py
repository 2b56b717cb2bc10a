"""Guards of the room `terminal`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import OUTPUT

MUTATIONS = (
    Mutation(
        "progress: the columns that fit",
        "terminal/progress_table.py",
        "<= width:",
        "<= 10 * width:",
        ("tests/unit/terminal/test_progress_table.py",),
    ),
    Mutation(
        "--output: links are followed",
        "terminal/output_file.py",
        "if not path.is_symlink():",
        "if True:",
        (OUTPUT,),
    ),
    Mutation(
        "--output: devices and pipes are written through",
        "terminal/output_file.py",
        "elif target.exists() and not target.is_file():",
        "elif False:",
        (f"{OUTPUT}::test_a_pipe_is_written_through_in_every_form",),
    ),
)
