"""Types of a query file's fields, and validation errors with fault and remedy."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError, PydanticKnownError

from tailrace.ground.duration import Duration, parse_time_ms
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.object_urls import FORMS, parse_declared_url
from tailrace.ground.files.source_roots import outside_roots

MOST_IN_LIST = 100_000
"""The greatest limit of a list in an answer."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def field_error(fault: str, remedy: str, field: str | None = None, in_sql: str | None = None) -> PydanticCustomError:
    """Build a validation error that says what is wrong and what would be right.

    `field` names the faulty field of the section; dots lead into a section below it. `in_sql` is the remedy for a query
    in SQL, if it differs.
    """
    context = {"fault": fault, "remedy": remedy, "field": field, "in_sql": in_sql}
    return PydanticCustomError("taught", "{fault}; right would be: {remedy}", context)


def renamed_in_sql(name: str) -> str:
    """Return the SQL text that renames a column."""
    is_word = name.isidentifier() and not name.lower().startswith("window")
    quoted = name if is_word else f"`{name.replace('`', '``')}`"
    return f"{quoted} AS its_{re.sub('[^a-z0-9]', '_', name.lower())}"


def _parse_time(text: Any) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=parse_time_ms(str(text)))
    except (ValueError, OverflowError):
        remedy = "an ISO 8601 date or time, in UTC unless it says otherwise: 2000-01-01 or 2000-01-01T06:30:00Z"
        raise field_error(f"{str(text)!r} is no time", remedy) from None


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        remedy = f"{' or '.join(near_zones(name)) or 'UTC'}: a name of the IANA time zone database"
        raise field_error(f"{name!r} is no time zone", remedy) from None
    return name


def near_zones(name: str) -> list[str]:
    """Return the time zones with names nearest to a wrong one, or else with the nearest names of cities."""
    zones = sorted(available_timezones())
    if near := get_close_matches(name, zones, 3):
        return near
    of_city = {zone.rpartition("/")[2].casefold(): zone for zone in zones if "/" in zone}
    city = name.rpartition("/")[2].strip().replace(" ", "_").casefold()
    return [of_city[each] for each in get_close_matches(city, of_city, 1)]


def resolve_path(path: Any, info: ValidationInfo) -> Any:
    """Resolve a relative path against the query file's directory, which the loader passes in the context.

    Raises
    ------
    PydanticCustomError
        When it is a URL, or lies outside of the directories that sources must lie under.
    """
    if not isinstance(path, str):
        return path
    if not path:
        return None
    if is_url(path):
        raise field_error(f"{path} is a URL, and a path is asked for", "a file or a directory of this machine")
    resolved = Path(os.path.abspath(Path((info.context or {}).get("directory", ""), path)))
    if (problem := outside_roots(resolved)) is not None:
        raise field_error(f"{problem.where}: {problem.fault}", problem.remedy)
    return resolved


def resolve_place(path: Any, info: ValidationInfo) -> Path | str:
    """Resolve a path like `resolve_path`, or return the URL of an object store unchanged.

    Raises
    ------
    PydanticCustomError
        When it is another URL, or `resolve_path` refuses it.
    """
    if not isinstance(path, str) or not is_url(path):
        resolved = resolve_path(path, info)
        if not isinstance(resolved, Path):
            raise PydanticKnownError("string_type")
        return resolved
    if parse_declared_url(path) is None:
        raise field_error(f"{path} is no URL of an object store", f"{FORMS}; or a path")
    url = path.rstrip("/")
    if (problem := outside_roots(url)) is not None:
        raise field_error(f"{problem.where}: {problem.fault}", problem.remedy)
    return url


ResolvedPath = Annotated[Path, BeforeValidator(resolve_path)]
ResolvedPlace = Annotated[Path | str, PlainValidator(resolve_place, json_schema_input_type=Path)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Column = Annotated[str, Field(min_length=1)]
Time = Annotated[datetime, BeforeValidator(_parse_time)]
NonNegativeDuration = Annotated[Duration, Field(ge=timedelta(0))]
TimeZone = Annotated[str, AfterValidator(_known_zone)]
"""Pydantic field type of the name of a time zone in the IANA database."""
PositiveDuration = Annotated[Duration, Field(gt=timedelta(0))]
Tasks = Annotated[int, Field(ge=1, le=64)]


def null_word(value: Any) -> Any:
    """Return the word `null` if YAML has parsed it as None."""
    return "null" if value is None else value


class Section(BaseModel):
    """Base model of the sections of a query file: frozen, unknown fields are refused."""

    # Pydantic builds the validator at first use, which never comes for a section within another one.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
