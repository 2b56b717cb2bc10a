"""A readers' view of a query: its tables, and the declaration that its stream runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.errors import Refused, refuse
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest, binding_changes
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerTables, kind_of_stream


@dataclass(frozen=True)
class QueryView:
    """A query of a warehouse, as it is when a request first looks at it.

    Attributes
    ----------
    layout : Layout
        Its directories and files.
    file : Path or None
        The query file on disk; None where it is gone.
    """

    layout: Layout
    file: Path | None

    @property
    def name(self) -> str:
        return self.layout.home.name

    @cached_property
    def tables(self) -> OpenedTables:
        """The tables of the stream, each opened once, at one version.

        Raises
        ------
        Refused
            When the stream is of another format.
        """
        self.layout.require_format()
        return OpenedTables(self.layout)

    @cached_property
    def query(self) -> Query:
        """The declaration that the stream runs: the deployed copy; the file if nothing was deployed.

        Raises
        ------
        Refused
            When neither exists, or this version of tailrace refuses it.
        """
        deployed = DeployedQuery.read(self.layout)
        if deployed is not None:
            try:
                return deployed.query()
            except Refused:
                if self.file is None:
                    raise
        if self.file is None:
            remedy = "to put the query's file back among the declared ones, as it was when the stream was begun"
            raise refuse(self.name, "its query file is gone, and no copy of it is on record", remedy)
        return load(self.file)

    @property
    def has_late_tuples(self) -> bool:
        """Whether tuples of the query can be late; True if the query can't be read."""
        with suppress(Refused):
            return self.query.has_late_tuples
        return True

    @cached_property
    def kind(self) -> Kind:
        """The kind that the stream runs; without the types of columns if no stream has begun with this declaration."""
        manifest = self.layout.read_manifest()
        if manifest is None or binding_changes(manifest, self.query):
            return build(self.query)
        return kind_of_stream(self.query, manifest)

    def readers(self, manifest: CheckpointManifest) -> tuple[StreamReader, ...]:
        """Build the readers of the streams, with the types in the checkpoint's manifest."""
        query = self.query.fixed_by(manifest.structure)
        return CompiledQuery.declare(query).bind(manifest.types).readers(self.layout.histories(query.streams))

    @cached_property
    def answers(self) -> AnswerTables:
        return AnswerTables(self.tables, self.kind.answers)


@dataclass(frozen=True)
class DeclaredView(QueryView):
    """A query as its file declares it, even if another one was deployed."""

    declared: Query

    @cached_property
    def query(self) -> Query:
        return self.declared
