"""Mixin of operators that report their inputs and outputs to OpenLineage."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.storage.layout import Layout


class LineageMixin:
    """Has the methods that OpenLineage's listener calls; without its provider they are not called.

    They import when they are called, so that DAGs are parsed quickly, and without the extra.

    Attributes
    ----------
    lineage_of : str
        Name of the function of `tailrace.orchestration.lineage` that returns the lineage.
    """

    lineage_of: ClassVar[str]
    query: str
    file: str

    def lineage_details(self) -> dict[str, Any]:
        """Return further arguments of that function, as far as they are known."""
        return {}

    def get_openlineage_facets_on_start(self) -> Any:
        return self._lineage(None)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        return self._lineage(task_instance.start_date)

    def _lineage(self, since: datetime | None) -> Any:
        lineage = getattr(import_module("tailrace.orchestration.lineage"), self.lineage_of)
        layout = Layout.for_query(settings.warehouse(), self.query)
        return lineage(Declared.read(Path(self.file)).query, layout, since, **self.lineage_details())
