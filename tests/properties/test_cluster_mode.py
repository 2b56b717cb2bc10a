"""One driver a query on a platform that loses messages, ends drivers late, and lies; its host is killed at any request.

The host runs what the launcher and the submission run, one start after the other. The platform's drivers append to a
log under the lease, on machines that share a store, which loses messages too.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.fakes.simulated_platform import OUTCOMES, SimulatedApplication, SimulatedPlatform
from kit.fakes.simulated_store import OUTCOMES as STORE_OUTCOMES
from kit.runs.leased_drivers import LeasedDriver, SharedLog
from kit.suite.examples import drawn
from tailrace.drivers.applications import end_applications
from tailrace.drivers.cluster_platform import ClusterPlatform
from tailrace.drivers.cluster_submission import INTERRUPTED, Watch
from tailrace.drivers.kubernetes import Kubernetes
from tailrace.drivers.yarn import Yarn

_STARTS, _MOST_STEPS = 3, 100
_STEPS = ("drive", "drive", "drive", "settle", "wait", "exit", "arrive")
_LIES = ("lose", "find")


class HostKilled(BaseException):
    """What a kill -9 of the host's program does here."""


class World(SharedLog):
    """A host, a platform and its drivers; what happens is drawn, one step before each request.

    `lies`: the platform may report the end of a driver that lives on; submissions may arrive after their end.
    """

    def __init__(self, draw, kind: str, lies: bool) -> None:
        super().__init__(self._step, lambda: draw(st.sampled_from(STORE_OUTCOMES)))
        self.draw, self.lies, self.steps, self.depth = draw, lies, 0, 0
        self.platform = SimulatedPlatform(
            self._step, lambda: draw(st.sampled_from(OUTCOMES)) if self.steps < _MOST_STEPS else "done", kind == "k8s"
        )
        self.client: ClusterPlatform = (
            Kubernetes("tag", "https://k", "ns", sender=self.platform.kubernetes)
            if kind == "k8s"
            else Yarn("tag", ("http://rm",), self.platform.yarn)
        )
        self.drivers: dict[SimulatedApplication, LeasedDriver] = {}
        self.late: list[dict[str, str]] = []
        self.acting: set[SimulatedApplication] = set()
        self.hosted = False

    def run(self) -> None:
        for number in range(_STARTS):
            try:
                self.hosted = True
                self._launch(f"start{number}")
            except HostKilled:
                pass
            finally:
                self.hosted = False
        self.check()

    def _launch(self, start: str) -> None:
        """As `drivers.launch` and `drivers.cluster_submission` do."""
        end_applications(self.client, lambda line: None, pause=lambda _: self._pause())
        if not self.lies:
            assert not any(one.alive for one in self.platform.applications), "an earlier driver lives"
        watch = Watch(self.client, start, lambda _: self._pause(), lambda: self.now_s)
        if watch.run(lambda: self._submit(start)) == INTERRUPTED:
            end_applications(self.client, lambda line: None, pause=lambda _: self._pause())

    def _submit(self, start: str) -> int:
        """As spark-submit does: it may fail, also after its request has come through; the host may die on the way."""
        settings = self.client.submission_settings(start)
        outcome = self.draw(
            st.sampled_from(["done", "done", "failed", "failed yet done", "late" if self.lies else "done"])
        )
        if outcome == "late":
            self.late.append(settings)
        done = outcome in ("done", "failed yet done") and self.platform.submit(settings)
        self._step()
        return 0 if done and outcome == "done" else 1

    def _pause(self) -> bool:
        """Time passes at the host; True where it is asked to stop."""
        self.now_s += 2.0
        self._step()
        return self.steps >= _MOST_STEPS or self.draw(st.integers(0, 9)) == 0

    def _step(self) -> None:
        self.steps += 1
        if self.steps >= _MOST_STEPS:  # enough: everything settles, so that every wait ends
            for application in self.platform.applications:
                self._settle(application)
            return
        if self.hosted and not self.depth and self.draw(st.integers(0, 19)) == 0:
            raise HostKilled
        if self.depth < 3 and self.platform.applications:
            self.depth += 1
            self._act(self.draw(st.sampled_from(_STEPS + _LIES if self.lies else _STEPS)))
            self.depth -= 1
        assert sum(driver.lease.is_held for driver in self.drivers.values()) <= 1, "two drivers hold the lease"
        if not self.lies:
            assert sum(one.alive for one in self.platform.applications) <= 1, "two drivers live"

    def _act(self, action: str) -> None:
        application = self.draw(st.sampled_from(self.platform.applications))
        if action == "wait":
            self.now_s += self.draw(st.sampled_from([1.0, 5.0, 11.0]))
        elif action == "arrive" and self.late:
            self.platform.submit(self.late.pop())
        elif action == "settle":
            self._settle(application)
        elif action == "exit" and application.alive:
            self.platform.end(application, self.draw(st.sampled_from([0, 1, 75])))
        elif action == "lose" and application.alive:
            self.platform.report(application, "failed")
        elif action == "find" and application.reported != "running":
            application.alive = False
        elif action == "drive" and application.alive and application not in self.acting:
            driver = self.drivers.setdefault(application, LeasedDriver(self, f"m{application.number}"))
            self.acting.add(application)
            try:
                driver.act(self.draw(st.sampled_from(["acquire", "acquire", "append", "append", "renew"])))
            finally:
                self.acting.discard(application)

    def _settle(self, application: SimulatedApplication) -> None:
        if application.ending and application.reported == "running":
            self.platform.end(application)
        if application.reported != "running" and self.steps >= _MOST_STEPS:
            application.alive = False


@pytest.mark.parametrize("kind", ["yarn", "k8s"])
@drawn(60)
@given(st.data())
def test_no_second_driver_lives_on_an_honest_platform_that_loses_messages(kind, data):
    World(data.draw, kind, lies=False).run()


@pytest.mark.parametrize("kind", ["yarn", "k8s"])
@drawn(60)
@given(st.data())
def test_no_two_drivers_commit_whatever_the_platform_reports(kind, data):
    World(data.draw, kind, lies=True).run()
