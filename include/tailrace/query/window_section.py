"""The section `window`: of a join, and of windows of each key, sliding, by the calendar of a time zone, or sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from tailrace.ground.duration import Duration, format_duration, ms, parse_duration
from tailrace.ground.fields import PositiveDuration, Section, TimeZone, field_error
from tailrace.windows.calendar import LENGTHS_MS, Calendar, Unit
from tailrace.windows.sessions import Sessions
from tailrace.windows.sliding import Sliding
from tailrace.windows.windows import Windows

_UNITS: dict[timedelta, Unit] = {timedelta(milliseconds=length): unit for unit, length in LENGTHS_MS.items()}
NAMED_LENGTHS: dict[str, timedelta] = {unit: length for length, unit in _UNITS.items() if unit != "day"}
"""The mean lengths of windows that a calendar's unit names: `1 week`, `1 month`."""

_MOST_WINDOWS = 20_000
"""The most windows of a tuple, as a late tuple is stored, and its key answered, in each of them."""

_ANY_SIZE = "1 d"  # a placeholder until the gap of sessions is read
_IS_SET, _IS_NOT_SET = {"not": {"type": "null"}}, {"type": "null"}
_OF_SIZES = ("size", "slide", "offset", "timezone")
"""The fields that sessions do not have."""
_SIZES = "size: 1 d, 1 week, 1 month, 1 quarter or 1 year"
ANY_ZONE = "timezone: UTC, or another zone"
"""The remedy for windows of a calendar without a zone, if no stream states one."""


def _is_near(name: str, fields: Iterable[str]) -> bool:
    return bool(get_close_matches(name, fields, cutoff=0.8))


def _calendar_unit(text: Any) -> str | None:
    """Return the calendar's unit of a length such as `1 week` or `1 month`; None for other lengths."""
    match = re.fullmatch(rf"1\s*({'|'.join(NAMED_LENGTHS)})", text.strip().lower()) if isinstance(text, str) else None
    return match[1] if match else None


def _parse_length(text: Any) -> Any:
    """Parse a duration, or a calendar's length such as `1 week` or `1 month`, which gives the mean length."""
    unit = _calendar_unit(text)
    return parse_duration(text) if unit is None else NAMED_LENGTHS[unit]


def _format_length(length: timedelta) -> str:
    unit = _UNITS.get(length, "day")
    return format_duration(ms(length)) if unit in ("day", "week") else f"1 {unit}"


Length = Annotated[
    timedelta,
    BeforeValidator(_parse_length),
    PlainSerializer(_format_length, return_type=str),
    Field(gt=timedelta(0), json_schema_extra={"format": "window length"}),
]
"""Pydantic field type of a window's length: a duration, or `1 week`, `1 month`, `1 quarter` or `1 year`."""


class JoinWindow(Section):
    """The sliding window of a join: the event times of a pair are at most `size` apart."""

    size: PositiveDuration = Field(
        description="largest difference between the event times of a pair, more than 0 ms: 5 s"
    )
    slide: PositiveDuration | None = Field(
        default=None, description="step of the window; the default tick is at most this long: 1 s"
    )

    @model_validator(mode="after")
    def _validate_slide(self) -> Self:
        if self.slide is not None and self.slide > self.size:
            raise field_error("slide is longer than size", "a slide no longer than size, or none", "slide")
        return self

    @property
    def size_ms(self) -> int:
        return ms(self.size)


_AS_SIZE = timedelta(0)
"""Marks the default of `slide`, the size; no file can state it."""


def _as_size() -> timedelta:
    """Return the mark for the default of `slide`."""
    return _AS_SIZE


class Window(Section):
    """Sliding windows over event time, half-open and aligned to the epoch; without a slide they lie side by side."""

    size: PositiveDuration = Field(description="length of a window, more than 0 ms and not less than slide: 500 ms")
    slide: PositiveDuration = Field(
        default_factory=_as_size,  # a factory: the JSON Schema shows no default
        description="time from the start of one window to the next, at most size (the default): 100 ms",
    )

    @model_validator(mode="after")
    def _validate_slide(self) -> Self:
        if self.slide is _AS_SIZE:
            object.__setattr__(self, "slide", self.size)
        if self.slide > self.size:
            remedy = "a slide no longer than size (equal: windows side by side), or a larger size"
            raise field_error("slide is longer than size, so tuples between windows would be in none", remedy, "slide")
        if self.slide_ms * _MOST_WINDOWS < self.size_ms:
            windows = -(-self.size_ms // self.slide_ms)
            shortest = format_duration(-(-self.size_ms // _MOST_WINDOWS))
            fault = f"a tuple would lie in {windows:,} windows, more than {_MOST_WINDOWS:,}"
            raise field_error(fault, f"a slide of {shortest} or more, or a smaller size", "slide")
        return self

    @property
    def size_ms(self) -> int:
        return ms(self.size)

    @property
    def slide_ms(self) -> int:
        return ms(self.slide)


class KeyedWindow(Window):
    """Windows over event time, half-open; without a slide they adjoin. A single length is their size.

    Sessions have a gap in place of size and slide.
    """

    size: Length = Field(
        description="length of a window, more than 0 ms and not less than slide; with timezone 1 d, 1 week, "
        "1 month, 1 quarter or 1 year; or session in its place: 500 ms"
    )
    slide: Length = Field(
        default_factory=_as_size,
        description="time from the start of one window to the next, at most size (the default): 100 ms",
    )
    offset: Duration | None = Field(
        default=None, description="shift of all window boundaries, shorter than slide; negative shifts them back: 6 h"
    )
    timezone: TimeZone | None = Field(
        default=None,
        description="time zone whose calendar days, weeks (from Monday), months, quarters or years are the windows: "
        "Europe/Berlin",
    )

    session: PositiveDuration | None = Field(
        default=None,
        description="session windows in place of size; a longer pause between a key's tuples starts a new session: "
        "30 min",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_length(cls, section: Any) -> Any:
        section = {"size": section} if isinstance(section, str) else section
        if isinstance(section, dict) and section.get("session") is not None:
            for field in _OF_SIZES:
                if section.get(field) or (field in ("size", "slide") and field in section):
                    fault = f"a session lasts as long as its tuples come, and {field} stands beside it"
                    raise field_error(fault, f"session without {field}; or size, and no session", field)
            return {"size": _ANY_SIZE} | section
        if isinstance(section, dict) and not {"size", "session"} & section.keys() and _is_near("session", section):
            return {"size": _ANY_SIZE} | section  # only the misspelt field is refused, not the missing size
        if isinstance(section, dict) and "session" in section and not section.get("size"):
            raise field_error("has no value", "session: 30 min, the gap; or size: 5 min, and no session", "session")
        if isinstance(section, dict) and not section.get("timezone"):
            for field in ("size", "slide"):
                unit = _calendar_unit(section.get(field))
                if unit is not None:
                    remedy = ANY_ZONE + (f"; or {field}: 7 d" if unit == "week" else "")
                    raise field_error(f"a {unit} begins by a calendar, and there is no timezone", remedy, field)
        return section

    @model_validator(mode="after")
    def _validate_session(self) -> Self:
        if self.session is not None:
            object.__setattr__(self, "size", self.session)
            object.__setattr__(self, "slide", self.session)
        return self

    @model_serializer(mode="wrap")
    def _serialize(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the fields as in a file: for sessions only `session`, for other windows all but that."""
        fields: dict[str, Any] = serialize(self)
        return {name: value for name, value in fields.items() if (name == "session") == (self.session is not None)}

    @model_validator(mode="after")
    def _validate_calendar(self) -> Self:
        if self.timezone is not None and self.slide != self.size:
            raise field_error("windows of a time zone lie side by side", "no slide, or no timezone", "slide")
        if self.timezone is not None and self.size not in _UNITS:
            fault = f"windows of a time zone follow its calendar, and {_format_length(self.size)} is no part of it"
            raise field_error(fault, f"{_SIZES}; or no timezone", "size")
        return self

    @model_validator(mode="after")
    def _validate_offset(self) -> Self:
        if not self.offset:
            object.__setattr__(self, "offset", None)
            return self
        if abs(self.offset) >= self.slide:
            fault = f"offset is {format_duration(ms(self.offset))}, which is not less than slide"
            raise field_error(fault, "less than slide: by whole slides the same windows come again", "offset")
        if self.timezone is not None and self.offset % timedelta(seconds=1):
            raise field_error("clocks of a time zone step by seconds", "an offset in whole seconds", "offset")
        return self

    @property
    def windows(self) -> Windows:
        """The windows."""
        offset_ms = 0 if self.offset is None else ms(self.offset)
        if self.session is not None:
            return Sessions(ms(self.session))
        if self.timezone is None:
            return Sliding(self.size_ms, self.slide_ms, offset_ms)
        return Calendar(_UNITS[self.size], self.timezone, offset_ms)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        declared = handler.resolve_ref_schema(handler(schema))
        declared |= {"type": ["object", "string"], "format": "window length", "gt": "PT0S"}
        del declared["required"]
        sessions = {"required": ["session"], "properties": {"session": _IS_SET}}
        others = dict.fromkeys(_OF_SIZES, _IS_NOT_SET)
        declared["allOf"] = [
            {"if": {"type": "object", "not": sessions}, "then": {"required": ["size"]}},
            {"if": {"type": "object", **sessions}, "then": {"properties": others}},
        ]
        return declared
