"""Mixin of operators that report to OpenLineage what they read and write."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.storage.layout import Layout


class TellsLineage:
    """Has the methods that OpenLineage's listener asks for lineage; without its provider nobody calls them.

    What they need is imported when they are called, so a DAG is parsed as fast, and without the extra.

    Attributes
    ----------
    lineage_of : str
        Name of the function of `tailrace.orchestration.lineage` that gives the lineage.
    """

    lineage_of: ClassVar[str]
    query: str
    file: str

    def lineage_details(self) -> dict[str, Any]:
        """Further arguments of that function, once they are known."""
        return {}

    def get_openlineage_facets_on_start(self) -> Any:
        return self._lineage(None)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        return self._lineage(task_instance.start_date)

    def _lineage(self, since: datetime | None) -> Any:
        lineage = getattr(import_module("tailrace.orchestration.lineage"), self.lineage_of)
        layout = Layout.of(settings.warehouse(), self.query)
        return lineage(Declared.read(Path(self.file)).query, layout, since, **self.lineage_details())
