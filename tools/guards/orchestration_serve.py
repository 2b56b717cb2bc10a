"""Guards of `tailrace serve`."""

from __future__ import annotations

from guards.mutation import Mutation

SERVE = "tests/orchestration/test_serve.py"
FOLDER = "tests/orchestration/test_served_folder.py"

MUTATIONS = (
    Mutation(
        "a served folder is no demonstration's, which would delete what is in it",
        "orchestration/served_folder.py",
        "if (self.home / DEMO_RECORD).exists():",
        "if False:",
        (FOLDER,),
    ),
    Mutation(
        "a served folder: another Airflow or driver host is not taken over",
        "orchestration/served_folder.py",
        "            if directory.exists():\n",
        "            if False:\n",
        (FOLDER,),
    ),
    Mutation(
        "a served folder: a port in use",
        "orchestration/served_folder.py",
        "        if not is_free(port):\n",
        "        if False:\n",
        (FOLDER,),
    ),
    Mutation(
        "a served platform: an Airflow that outlived its process holds the port no more",
        "orchestration/serve.py",
        "        platform.kill_leftovers()  # before the port is looked at, which they may hold\n",
        "",
        (SERVE,),
    ),
    Mutation(
        "a platform that does not start stops what has started",
        "orchestration/embedded_platform.py",
        "            starting.callback(self._stop_drivers)\n",
        "",
        (SERVE,),
    ),
    Mutation(
        "a served platform: its stop is no restart of a crash loop",
        "orchestration/embedded_platform.py",
        "                forget_restarts(location_of(home))",
        "                pass",
        (SERVE,),
    ),
    Mutation(
        "the file for shells has no connection of another shell",
        "orchestration/embedded_platform.py",
        "for name, text in variables if name not in self._connections}",
        "for name, text in variables}",
        (SERVE,),
    ),
    Mutation(
        "a served platform ends where Airflow does",
        "orchestration/serve.py",
        "        if code is not None:\n",
        "        if code is not None and told:\n",
        (SERVE,),
    ),
)
