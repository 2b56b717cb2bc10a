"""Guards of the room `spark`."""

from __future__ import annotations

from guards.mutation import Mutation

MASTERS = "tests/unit/spark/test_masters.py"

MUTATIONS = (
    Mutation(
        "rescale: a task of a job has its keys by the number of tasks in the batch",
        "spark/batch_job.py",
        "self.pipeline.task(index, change)",
        "self.pipeline.task(index)",
        ("tests/unit/stream/test_rescale.py::test_the_groups_of_a_job_of_spark_move_the_state",),
    ),
    Mutation(
        "a job that is run again does not take the clock of the job before it",
        "spark/batch_job.py",
        "_CLOCKS.get(self.id)",
        "next(iter(_CLOCKS.values()), None)",
        ("tests/unit/spark/test_batch_job.py",),
    ),
    Mutation(
        "the locale of a driver's JVM",
        "spark/masters.py",
        " | utf_8_locale(os.environ)",
        "",
        ("tests/unit/spark/test_masters.py",),
    ),
    Mutation(
        "a JVM that has ended is not tried again",
        "spark/executor.py",
        "            if self._has_jvm():\n                raise\n",
        "            raise\n",
        ("tests/unit/spark/test_executor.py",),
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
