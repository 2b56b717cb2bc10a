"""The section `emd_join` of a query file: which histograms are similar, and how similar pairs are found."""

from __future__ import annotations

import hashlib
import math
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, GetJsonSchemaHandler, ValidationInfo, field_validator, model_serializer, model_validator
from pydantic_core import CoreSchema
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from tailrace.emd_join import ground_distance, matrix_file
from tailrace.emd_join.ground_distance import Costs
from tailrace.ground.extras import validate_extra
from tailrace.ground.fields import Column, PositiveDuration, Section, field_error, resolve_path
from tailrace.kind.column_use import JOIN, ColumnUse
from tailrace.kind.pair_condition import check_condition, condition_uses, selection_uses
from tailrace.kind.selection import Selected, check_selection, selected
from tailrace.partition.routes import LEFT, RIGHT

LIST = pa.list_(pa.float64())
"""The Arrow type of a histogram's masses."""

MOST_BINS = 1024
"""The most bins of a histogram; an exact distance between larger ones takes seconds."""

_LINE_BINS, SPAN_SHARE, FEEDBACK = 256, 15 / 255, timedelta(milliseconds=500)
"""The number of bins on a line before the first record; and the defaults of a span's width (as a share of the longest
distance) and of the feedback period.

The first two are taken from paper 000, section 6: 256 grey levels, spans of 15 of them. The paper's feedback period is
2.5 s. Plans follow the streams a period late, so a short period is better; docs/results/000.md compares several (figure
6).
"""

_GROUND_DISTANCE = "line, or {grid: [4, 4, 4]}, or {matrix: distances.npy}"


class GroundDistance(Section):
    """The cost of moving a unit of mass between two bins, by grid or matrix, or on a line, which is a word: line"""

    grid: tuple[int, ...] | None = Field(
        default=None, description="number of bins in each of one to three dimensions: [4, 4, 4]"
    )
    matrix: Path | None = Field(
        default=None,
        description="NumPy file with the distance between every two bins, relative to the query file: d.npy",
    )

    @model_validator(mode="before")
    @classmethod
    def _validate_name(cls, value: Any) -> Any:
        if value == "line":
            return {}
        if isinstance(value, dict) and len(value) == 1 and value.keys() <= {"grid", "matrix"}:
            return value
        if isinstance(value, GroundDistance):
            return value
        raise field_error(f"{value!r} is no ground distance", _GROUND_DISTANCE)

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> Any:
        return "line" if self.grid is None and self.matrix is None else dump(self)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        declared = handler.resolve_ref_schema(handler(schema))
        declared |= {"type": ["object", "string"], "pattern": "^line$"}
        return declared

    @field_validator("grid", mode="before")
    @classmethod
    def _validate_shape(cls, value: Any) -> Any:
        try:
            shape = tuple(int(str(length)) for length in value) if isinstance(value, list | tuple) else ()
        except ValueError:
            shape = ()
        if not 1 <= len(shape) <= 3 or min(shape) < 1 or not 1 < math.prod(shape) <= MOST_BINS:  # noqa: PLR2004
            remedy = f"one to three numbers of bins, together 2 to {MOST_BINS}: [4, 4, 4]"
            raise field_error(f"{value!r} is no grid", remedy)
        return shape

    @field_validator("matrix", mode="before")
    @classmethod
    def _validate_matrix(cls, value: Any, info: ValidationInfo) -> Any:
        remedy = "a file of NumPy (np.save) with a distance for each two bins, which is a metric"
        if not isinstance(value, str | Path) or not str(value):
            raise field_error(f"{value!r} is no file", remedy)
        path = resolve_path(str(value), info)
        try:
            matrix_file.read(path)
        except ValueError as error:
            raise field_error(f"{path} {error}", remedy) from None
        return path

    def costs(self, bins: int, scale: float) -> Costs:
        """Return the distances of all bins, shape (n, n); `bins` is the number of bins on a line."""
        if self.grid is not None:
            return ground_distance.grid(self.grid, scale)
        if self.matrix is not None:
            return np.asarray(matrix_file.read(self.matrix) / scale)
        return ground_distance.line(bins, scale)

    def places(self, bins: int, scale: float) -> NDArray[np.float64] | None:
        """Return the coordinates of the bins, shape (n, d), for a Euclidean distance; None for a matrix."""
        return None if self.matrix is not None else ground_distance.grid_places(self.grid or (bins,), scale)

    @property
    def digest(self) -> str | None:
        """A digest of the matrix, by which changes of it are detected; None without a matrix."""
        return None if self.matrix is None else hashlib.sha256(matrix_file.read(self.matrix).tobytes()).hexdigest()


LINE = GroundDistance.model_validate("line")


class EmdJoinSection(Section):
    """The pairs that an EMD join finds, and the method by which it finds them."""

    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        description="largest Earth Mover's Distance of a pair, in units of the ground distance divided by scale: 0.5"
    )
    histogram: Column = Field(description="column with the histograms, lists of bin masses, in both streams: hist")
    ground_distance: GroundDistance = Field(
        default=LINE, description="distance between two bins, on a line (line), in a grid or by a matrix: line"
    )
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        default=1.0, description="divisor of the ground distance: 255"
    )
    bins: Annotated[int, Field(ge=2, le=MOST_BINS)] | None = Field(
        default=None, description="number of bins on a line, by default as many as the first record has: 256"
    )
    method: Literal["emd_ddsj", "shuffle", "head"] = Field(
        default="emd_ddsj",
        description="how tuples are distributed over tasks and pairs are filtered; shuffle and head are baselines: "
        "emd_ddsj",
    )
    search: Literal["closed_form", "filter_chain"] | None = Field(
        default=None,
        description="how distances are computed, closed_form (bins on a line only, "
        "the default there) or filter_chain: filter_chain",
    )
    distances: bool = Field(
        default=True, description="whether answers have the distance of each pair; false saves computing time: true"
    )
    select: tuple[Column, ...] = Field(
        default=(),
        description="further columns of answers, beside the ids and the distance: [left.camera, right.camera]",
    )
    where: Column | None = Field(
        default=None,
        description="condition on pairs, an expression over columns of both sides: left.camera <> right.camera",
    )
    span: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None,
        description="width of a key span of method emd_ddsj, in bins, by default a 17th of the longest distance: 15",
    )
    feedback: PositiveDuration | None = Field(
        default=None,
        description="time between two rebalancings of the tasks by method emd_ddsj, 500 ms by default: 500 ms",
    )

    @model_validator(mode="after")
    def _validate_combination(self) -> Self:
        validate_extra("emd")
        for name in ("span", "feedback"):
            if self.method != "emd_ddsj" and getattr(self, name) is not None:
                raise field_error(f"method {self.method} takes no {name}", f"no {name}, or method: emd_ddsj", name)
        if self.bins is not None and self.ground_distance != LINE:
            raise field_error("the ground distance determines the number of bins", "no bins", "bins")
        with np.errstate(over="ignore"):
            longest = float(self.costs.max())
        if not 0 < longest < math.inf:
            raise field_error(f"scale {self.scale:g} makes the longest distance {longest:g}", "scale: 255", "scale")
        if self.span is not None and self.span_width >= longest:
            fault = f"one span of {self.span:g} bins holds all keys, so there is nothing to balance"
            raise field_error(fault, f"a part of the longest distance, {longest * self.scale:g} bins", "span")
        if self.search == "closed_form" and not ground_distance.is_line(self.costs):
            fault = "there is a closed form only where the bins lie on a line"
            raise field_error(fault, "search: filter_chain, or ground_distance: line", "search")
        check_selection(self.select, given=("distance",))
        check_condition(self.where, {"distance": "the field threshold: the largest distance of a pair"})
        return self

    @property
    def selection(self) -> tuple[Selected, ...]:
        """The columns of an answer beside its identity and distance, in order."""
        return tuple(map(selected, self.select))

    @property
    def uses(self) -> tuple[ColumnUse, ...]:
        """The uses of the columns of both streams."""
        named = ColumnUse(self.histogram, JOIN, (), "histogram", "emd_join.histogram", dtype=LIST)
        compared = [named._replace(side=side) for side in (LEFT, RIGHT)]
        distance = [Selected("distance", None, "distance")] if self.distances else []
        selection = selection_uses([*distance, *self.selection], "emd_join.select", compared)
        return (*compared, *selection, *condition_uses(self.where, "emd_join.where"))

    @property
    def costs(self) -> Costs:
        """The ground distance, shape (n, n), divided by the scale."""
        return self.ground_distance.costs(self.bins or _LINE_BINS, self.scale)

    @property
    def takes_bins(self) -> bool:
        """Whether the first record determines the number of bins.

        It does if they are on a line, and their number is not declared.
        """
        return self.bins is None and self.ground_distance == LINE

    @property
    def span_width(self) -> float:
        """The width of a span in the unit of the ground distance: as declared, else a 17th of the longest distance."""
        return float(self.costs.max()) * SPAN_SHARE if self.span is None else self.span / self.scale

    @property
    def feedback_period(self) -> timedelta:
        """The feedback period, as declared or by default."""
        return self.feedback or FEEDBACK
