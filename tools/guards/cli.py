"""Guards of the room `cli`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import EDITS, OUTPUT

MUTATIONS = (
    Mutation(
        "init and new replace no file, also none that came meanwhile",
        "cli/new_file.py",
        'file.open("x", encoding',
        'file.open("w", encoding',
        ("tests/unit/cli/test_init.py::test_a_file_that_comes_meanwhile_is_not_replaced",),
    ),
    Mutation(
        "init asks for a zone on a terminal alone",
        "cli/init.py",
        "if proposal.draft.assumes_zone and is_interactive():",
        "if proposal.draft.assumes_zone:",
        ("tests/unit/cli/test_init.py::test_without_a_terminal_nothing_is_asked",),
    ),
    Mutation(
        "validate --source reads dimension tables",
        "cli/source_report.py",
        "for subject, table in query.tables.items():",
        "for subject, table in ():",
        ("tests/unit/cli/test_source_report.py::test_the_geometries_of_a_join_with_a_table_are_read",),
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
        "a driver runs the copy that was deployed",
        "cli/run.py",
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
        "an interruption while the command loads",
        "cli/start.py",
        "    signal.signal(signal.SIGINT, _leave)\n",
        "",
        ("tests/unit/cli/test_start.py",),
    ),
    Mutation(
        "an interruption that is sent again: where no other has come",
        "cli/interruption.py",
        "if len(signals) == received:",
        "if True:",
        ("tests/unit/cli/test_interruption.py",),
    ),
    Mutation(
        "chains: no run waits for itself",
        "cli/run.py",
        "        chain_of(query.declared, file)  # of two live queries that wait for each other, none begins\n",
        "",
        ("tests/unit/cli/test_chains.py::test_explain_draws_the_chain_and_validate_and_run_refuse_a_cycle",),
    ),
    Mutation(
        "a command without the library of an extra names the extra",
        "cli/commands.py",
        '        with refused_if_missing(f"{program.name} {command}"):\n            code',
        "        with suppress():\n            code",
        ("tests/unit/cli/test_core_alone.py",),
    ),
    Mutation(
        "status shows the warehouse's streams where there is no driver host",
        "cli/driver_commands.py",
        "if isinstance(refused, Busy | Damaged) or not has_streams(warehouse, query):",
        "if True:",
        (
            "tests/unit/cli/test_named_queries.py::"
            "test_without_a_driver_host_the_warehouse_is_asked_and_without_streams_the_refusal_stands",
        ),
    ),
    Mutation(
        "a warehouse that was not typed is named once work begins, and by no refusal",
        "cli/arguments.py",
        "screen.say_with_work(location, ",
        "screen.err.print(",
        ("tests/unit/cli/test_named_queries.py::test_a_refusal_names_no_warehouse_that_was_not_typed",),
    ),
    Mutation(
        "a command does not say the lines of an earlier one of its process",
        "cli/commands.py",
        "        screen.no_work_yet()\n",
        "",
        ("tests/unit/cli/test_named_queries.py::test_a_refusal_names_no_warehouse_that_was_not_typed",),
    ),
    Mutation(
        "an error behind a run says which answers are written",
        "cli/run.py",
        "    with noting_written(ended.layout):\n",
        "    if True:\n",
        ("tests/unit/cli/test_written_answers.py",),
    ),
    Mutation(
        "the notes of an error are printed",
        "cli/commands.py",
        "            screen.notes(error)\n",
        "",
        ("tests/unit/cli/test_written_answers.py",),
    ),
)
