"""Guards of the room `drivers`."""

from __future__ import annotations

from guards.mutation import Mutation

PLATFORMS = "tests/orchestration/test_cluster_platforms.py"
SUBMISSION = "tests/orchestration/test_cluster_submission.py"
EMBEDDED = "tests/orchestration/test_embedded.py"
NO_PAGES = (
    "tests/orchestration/test_embedded.py::test_the_host_has_no_page_that_asks_for_its_password_shows_a_log_or_acts"
)

MUTATIONS = (
    Mutation(
        "fence",
        "drivers/launch.py",
        "victims = fence.fence(home, token)",
        "victims: list[int] = []",
        ("tests/orchestration/test_launch.py",),
    ),
    Mutation(
        "fence: processes are dead before it returns",
        "drivers/fence.py",
        "if not targets and not survivor_pids:",
        "if True:",
        ("tests/orchestration/test_fence.py",),
    ),
    Mutation(
        "a copy of an embedded host's directory does not stop the original",
        "drivers/embedded.py",
        "                if self._ours():  # a copy",
        "                if True:  # a copy",
        (f"{EMBEDDED}::test_a_copy_of_a_hosts_directory_neither_stops_the_original_nor_runs_its_drivers",),
    ),
    Mutation(
        "a copy of an embedded host's directory runs none of the original's drivers",
        "drivers/embedded.py",
        "any(directory != str(self.directory) for directory in records)",
        "False",
        (f"{EMBEDDED}::test_a_copy_of_a_hosts_directory_neither_stops_the_original_nor_runs_its_drivers",),
    ),
    Mutation(
        "drivers are known by warehouse and name",
        "drivers/homes.py",
        "if resolved(text) == wanted",
        "if True",
        ("tests/orchestration/test_homes.py",),
    ),
    Mutation(
        "no two warehouses share a program's name",
        "drivers/homes.py",
        "sha256(location.encode(errors='surrogateescape'))",
        "sha256(b'')",
        ("tests/orchestration/test_homes.py::test_no_query_or_warehouse_shares_a_programs_name",),
    ),
    Mutation(
        "a program of a link's earlier target is left alone",
        "drivers/homes.py",
        "not in taken",
        "not in ()",
        ("tests/orchestration/test_homes.py::test_a_link_that_has_another_target_takes_no_program_of_the_earlier_one",),
    ),
    Mutation(
        "cluster mode: a copy of a warehouse ends none of the original's applications",
        "drivers/applications.py",
        'return described if resolved(described["home"]) == resolved(home) else None',
        "return described",
        (PLATFORMS,),
    ),
    Mutation(
        "cluster mode: the launcher ends earlier applications",
        "drivers/launch.py",
        "end_applications(platform, _say)",
        "pass",
        (f"{SUBMISSION}::test_the_driver_of_a_killed_submission_is_ended_before_the_next_one_is_submitted",),
    ),
    Mutation(
        "cluster mode: the fence ends applications",
        "drivers/fence.py",
        "if platform is not None:",
        "if False:",
        (f"{SUBMISSION}::test_the_fence_as_a_command_ends_the_driver_after_a_crash",),
    ),
    Mutation(
        "cluster mode: the end of applications is waited for",
        "drivers/applications.py",
        "            if not remaining:\n",
        "            if True:\n",
        (PLATFORMS, "tests/properties/test_cluster_mode.py"),
    ),
    Mutation(
        "cluster mode: no news is no end",
        "drivers/applications.py",
        "            state = str(error)\n",
        "            return\n",
        (PLATFORMS, "tests/properties/test_cluster_mode.py"),
    ),
    Mutation(
        "cluster mode: nothing is submitted where nothing can be ended",
        "drivers/cluster_submission.py",
        "if self._answer() is None:",
        "if False:",
        (f"{SUBMISSION}::test_it_waits_for_a_platform_that_is_away",),
    ),
    Mutation(
        "cluster mode: a late submission is ended",
        "drivers/cluster_submission.py",
        "self._platform.end(application)",
        "pass",
        (f"{SUBMISSION}::test_a_late_submission_of_an_earlier_start_is_ended",),
    ),
    Mutation(
        "cluster mode: a signal ends the driver",
        "drivers/cluster_submission.py",
        "end_applications(platform, _say)",
        "pass",
        (f"{SUBMISSION}::test_a_signal_ends_the_driver_first",),
    ),
    Mutation(
        "cluster mode: a standby ResourceManager knows nothing",
        "drivers/yarn.py",
        "any(member in value for member in members)",
        "True",
        (PLATFORMS,),
    ),
    Mutation(
        "cluster mode: YARN starts no driver by itself",
        "drivers/yarn.py",
        '"spark.yarn.maxAppAttempts": "1"',
        '"spark.yarn.maxAppAttempts": "2"',
        (PLATFORMS,),
    ),
    Mutation(
        "cluster mode: no later pod of the same name is deleted",
        "drivers/kubernetes.py",
        '"preconditions": {"uid": uid}',
        '"preconditions": {"uid": "uid-1"}',
        (PLATFORMS,),
    ),
    Mutation(
        "warehouse away: a driver waits",
        "drivers/launch.py",
        "if os.environ.get(DEPLOYMENT):",
        "if False:",
        ("tests/orchestration/test_launch.py",),
    ),
    Mutation(
        "a driver host: no pages",
        "drivers/rpc_only.py",
        "        page.match = _is_never_a_request",
        "        pass",
        (NO_PAGES,),
    ),
    Mutation(
        "a driver host: no request that a form of another page can send",
        "drivers/rpc_only.py",
        "return is_xml and request",
        "return request",
        (NO_PAGES,),
    ),
    Mutation(
        "an embedded driver host: its part without pages",
        "drivers/embedded_configuration.py",
        "supervisor.rpcinterface_factory=tailrace.drivers.rpc_only:make_interface",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        (NO_PAGES,),
    ),
    Mutation(
        "a port whose connections have just ended is free",
        "drivers/ports.py",
        "        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n",
        "",
        ("tests/orchestration/test_served_folder.py",),
    ),
    Mutation(
        "restarts stay on record for a day",
        "drivers/launch.py",
        "kept_s = max(within_s, KEPT_S)",
        "kept_s = within_s",
        ("tests/orchestration/test_console_rows.py",),
    ),
    Mutation(
        "restarts stay on record through deployments",
        "drivers/launch.py",
        'write_atomically(earlier, json.dumps({"restarts": kept_restarts}))',
        "pass",
        (
            "tests/orchestration/test_console_rows.py::test_a_restart_counts_for_a_day_also_after_deployments",
            "tests/orchestration/test_driver_lifecycle.py",
        ),
    ),
    Mutation(
        "a driver in a crash loop stays down through a stop of its platform",
        "drivers/launch.py",
        "if _exists(file) and not _read(file)[1]:",
        "if _exists(file):",
        ("tests/orchestration/test_serve.py",),
    ),
    Mutation(
        "a copy of a host that was stopped with its programs runs none of them",
        "drivers/embedded.py",
        "            if keeps_programs and self._wanted.exists():\n",
        "            if False:\n",
        (
            "tests/orchestration/test_embedded.py::"
            "test_a_stop_that_keeps_programs_leaves_no_process_and_the_next_start_starts_them",
        ),
    ),
)
