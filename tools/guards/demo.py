"""Guards of the room `demo`."""

from __future__ import annotations

from guards.mutation import Mutation

MUTATIONS = (
    Mutation(
        "the demonstration: a promise that is kept is not called broken",
        "demo/look_around.py",
        "this promise is {promise.state}:",
        "this promise is broken:",
        ("tests/unit/demo/test_living_stream.py::test_the_last_lines_say_of_the_promise_what_is_measured_by_then",),
    ),
    Mutation(
        "the demonstration: what others changed or added stays",
        "demo/inventory.py",
        "cleared = [folder for folder in self._entries if not self._foreign(folder)]",
        "cleared = list(self._entries)",
        ("tests/unit/demo/test_inventory.py",),
    ),
    Mutation(
        "the demonstration: a place that others have taken",
        "demo/walkthrough.py",
        "    inventory.require_free(written)\n",
        "",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
    Mutation(
        "the demonstration: files that come while it runs are its own",
        "demo/generated_data.py",
        " if entry != GROWING]",
        "]",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
    Mutation(
        "the demonstration: another one that runs in its directory",
        "demo/walkthrough.py",
        '    with held_directory(home, f"--warehouse {home}", lambda: _in_use(home)):\n',
        "    if True:\n",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
    Mutation(
        "the demonstration: a checkout without the flights is refused at once",
        "demo/walkthrough.py",
        "    _require_sample(load(FLIGHTS).stream[1].path)\n",
        "    load(FLIGHTS)\n",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
    Mutation(
        "the demonstration: a payment is in a file only once it has arrived",
        "demo/living_stream.py",
        "<= now_ms - EVERY_MS:",
        "<= now_ms:",
        ("tests/unit/demo/test_living_stream.py",),
    ),
    Mutation(
        "the demonstration: a stream that is quiet before all is sent has not come to its end",
        "demo/demonstrated_query.py",
        "(sending is None or status.rows >= sending.rows)",
        "True",
        ("tests/unit/demo/test_demonstrated_query.py",),
    ),
    Mutation(
        "the demonstration: its topic has no answer too many",
        "demo/topic_answers.py",
        "share == 1 and answers.num_rows == len(true)",
        "share == 1",
        ("tests/unit/demo/test_topic_answers.py",),
    ),
    Mutation(
        "the demonstration: of a topic's records the greatest version counts, whatever their order",
        "demo/topic_answers.py",
        "or record.version >= kept[record.key].version",
        "or True",
        ("tests/unit/demo/test_topic_answers.py",),
    ),
    Mutation(
        "the demonstration: a living stream that fails gets no correction",
        "demo/demonstrated_query.py",
        "            check()\n",
        "",
        ("tests/unit/demo/test_demonstrated_query.py",),
    ),
    Mutation(
        "the demonstration: the runs of its own DAGs are deleted, as a backfill passes over what has run",
        "demo/walkthrough.py",
        "    if past:\n",
        "    if False:\n",
        ("tests/unit/demo/test_walkthrough.py",),
    ),
)
