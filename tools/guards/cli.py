"""Guards of the room `cli`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import EDITS, OUTPUT

PICTURE = "tests/unit/cli/test_picture.py"

MUTATIONS = (
    Mutation(
        "a query that never ran is not drawn",
        "cli/readers.py",
        "    require_begun(layout, query)\n",
        "",
        (f"{PICTURE}::test_the_command_refuses_what_it_can_not_draw",),
    ),
    Mutation(
        "names in a picture are no formulas",
        "cli/picture.py",
        'rc_context({"text.parse_math": False})',
        "rc_context({})",
        (f"{PICTURE}::test_hostile_names_are_drawn_as_text",),
    ),
    Mutation(
        "a help that nobody reads ends with 141, though rich replaces the pipe",
        "cli/leaving.py",
        "copies.append(os.dup(descriptor))",
        "copies.append(os.open(os.devnull, os.O_WRONLY))",
        ("tests/unit/terminal/test_output_file.py",),
    ),
    Mutation(
        "explain --sample: the bins of the first record",
        "cli/explanation.py",
        "with_bins_of_source(query, samples), samples",
        "query, samples",
        ("tests/contract/test_conditions_of_pairs.py::test_a_sample_is_explained_with_the_bins_of_the_first_record",),
    ),
    Mutation(
        "a command that is not installed says what to do",
        "cli/checkout.py",
        'if find_spec(f"tailrace.{package}") is None]',
        "if False]",
        ("tests/unit/cli/test_checkout.py",),
    ),
    Mutation(
        "a driver runs the copy that was deployed",
        "cli/commands.py",
        "    if deployed is None:\n        query",
        "    if True:\n        query",
        (f"{EDITS}::test_a_driver_starts_with_the_copy_and_not_with_an_edited_file",),
    ),
    Mutation(
        "a command that is done leaves without finalising Python",
        "cli/leaving.py",
        "os._exit(code)",
        "sys.exit(code)",
        ("tests/unit/cli/test_commands.py::test_reads_in_progress_do_not_abort_a_command[done]",),
    ),
    Mutation(
        "a reader that goes away ends a command quietly",
        "cli/commands.py",
        "if isinstance(error, BrokenPipeError) and not signals and leaving.is_output_closed(outputs):",
        "if False:",
        (OUTPUT,),
    ),
    Mutation(
        "a query in use is tried again by a supervisor",
        "cli/commands.py",
        "if retried and isinstance(refused, Busy)",
        "if False",
        (
            "tests/unit/cli/test_commands.py::test_a_query_in_use_fails_in_a_supervised_driver_so_that_it_is_tried_again",
        ),
    ),
    Mutation(
        "an interruption that a finalizer swallows",
        "cli/interruption.py",
        "sys.unraisablehook = send_again",
        "pass",
        ("tests/unit/cli/test_interruption.py",),
    ),
    Mutation(
        "an interruption that is sent again: where no other has come",
        "cli/interruption.py",
        "if len(signals) == received:",
        "if True:",
        ("tests/unit/cli/test_interruption.py",),
    ),
)
