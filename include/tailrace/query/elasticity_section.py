"""The section `elasticity` of a query file: how far the number of tasks may rise under a burst."""

from __future__ import annotations

from pydantic import Field

from tailrace.ground.fields import Section, Tasks, field_error


class ElasticitySection(Section):
    """The greatest number of tasks of a live stream; `parallelism` is the least one."""

    most: Tasks = Field(description="largest number of tasks under load, more than parallelism and at most 64: 8")

    def require_more_than(self, parallelism: int) -> None:
        """Refuse a greatest number that leaves nothing to raise; 0 tasks are those of a join with a table.

        Raises
        ------
        ValueError
        """
        if not parallelism:
            raise field_error("a join with a table has no tasks: its readers answer", "no elasticity", "elasticity")
        if self.most <= parallelism:
            fault = f"{self.most} is no more than parallelism, which is {parallelism}"
            raise field_error(fault, "a greater number; or no section elasticity", "elasticity.most")
