"""The section `aggregate` of a query file: one function, or several named aggregates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tailrace.aggregate.function_section import FunctionSection
from tailrace.aggregate.named_section import NamedAggregatesSection

AggregateSection = Annotated[FunctionSection | NamedAggregatesSection, Field(discriminator="function")]
