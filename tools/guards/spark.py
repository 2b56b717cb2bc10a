"""Guards of the room `spark`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import REBUILD, SINK

MASTERS = "tests/unit/spark/test_masters.py"

MUTATIONS = (
    Mutation(
        "rebuild: no double in a table that an older batch wrote last",
        "spark/sink.py",
        "if name in table_rows and batch >= self.entries.get(name, 0)",
        "if name in table_rows",
        (f"{REBUILD}::test_a_lost_checkpoint_is_made_again_from_history",),
    ),
    Mutation(
        "the locale of a driver's JVM",
        "spark/masters.py",
        " | utf_8_locale(os.environ)",
        "",
        ("tests/unit/spark/test_masters.py",),
    ),
    Mutation(
        "order in the sink: executed before a table is asked",
        "spark/sink.py",
        "table_rows = self.execute(rows)",
        'if self.tables.last_batch("metrics", self.app) >= batch:\n            return {}\n'
        "        table_rows = self.execute(rows)",
        (SINK,),
    ),
    Mutation(
        "vacuum: no file that a correction reads",
        "spark/sink.py",
        "held.enter_context(self.tables.layout.lock(VACUUM, 0))",
        "pass",
        (SINK,),
    ),
    Mutation(
        "an entry that Spark has run before it was confirmed holds nothing up",
        "spark/attempts.py",
        "idle = done >= self.planner.batches",
        "idle = done == self.planner.batches",
        ("tests/unit/spark/test_attempts.py",),
    ),
    Mutation(
        "an entry that could not be copied for Spark is copied by the next attempt",
        "spark/attempts.py",
        "            self.entries.copy(entry)  # where",
        "            with retried(retries, self.reporter):\n                self.entries.copy(entry)  # where",
        ("tests/unit/spark/test_attempts.py",),
    ),
    Mutation(
        "a driver's lease before each table",
        "spark/sink.py",
        "            self.require_held()\n            self.tables.append(",
        "            self.tables.append(",
        (SINK,),
    ),
    Mutation(
        "answers are sent before the batch is noted",
        "spark/sink.py",
        "self.answer_topic.send(",
        "record_written(self.tables.layout, lacking, batch)\n            self.answer_topic.send(",
        (SINK,),
    ),
    Mutation(
        "a live source that is not fit ends the run",
        "spark/attempts.py",
        "if isinstance(error, Unfit) and retries.failing_s >= UNFIT_S:",
        "if False:",
        ("tests/unit/spark/test_attempts.py",),
    ),
    Mutation(
        "cluster: a secret is asked for",
        "spark/cluster_master.py",
        "if len(value) < FEWEST_CHARACTERS:",
        "if False:",
        (MASTERS,),
    ),
    Mutation(
        "cluster: every connection asks for the secret",
        "spark/cluster_master.py",
        '"spark.authenticate": "true"',
        '"spark.authenticate": "false"',
        (MASTERS,),
    ),
    Mutation(
        "cluster: every connection is encrypted",
        "spark/cluster_master.py",
        '"spark.network.crypto.enabled": "true"',
        '"spark.network.crypto.enabled": "false"',
        (MASTERS,),
    ),
    Mutation(
        "cluster: the master's REST server is off",
        "spark/cluster_master.py",
        '"spark.master.rest.enabled": "false"',
        '"spark.master.rest.enabled": "true"',
        (MASTERS,),
    ),
    Mutation(
        "archive of classes: a path that the JVM would split",
        "spark/class_archive.py",
        "self.file.exists() and os.pathsep not in str(self.file)",
        "self.file.exists()",
        ("tests/unit/spark/test_class_archive.py",),
    ),
    Mutation(
        "log settings of a master's drivers that have no archive of classes",
        "spark/masters.py",
        "with_archive=is_local",
        "with_archive=True",
        ("tests/unit/spark/test_masters.py",),
    ),
)
