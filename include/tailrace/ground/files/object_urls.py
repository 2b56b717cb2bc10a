"""URLs of object stores: s3://BUCKET/KEY, gs://BUCKET/KEY and abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY."""

from __future__ import annotations

import re
from typing import NamedTuple

FORMS = "s3://bucket/readings, gs://bucket/readings or abfss://container@account.dfs.core.windows.net/readings"
"""Examples of such URLs, in words."""

# The host is fixed, as a host chosen in a query file would receive the connection's token.
_URL = re.compile(
    r"(?P<store>(?:s3|gs)://[A-Za-z0-9][A-Za-z0-9._-]*|abfss://[a-z0-9-]+@[a-z0-9]+\.dfs\.core\.windows\.net)"
    r"(?:/(?P<key>(?:[^/?#\x00-\x1f]+(?:/[^/?#\x00-\x1f]+)*)?)/?)?"
)


class ObjectUrl(NamedTuple):
    """The parts of a URL: its store, such as s3://bucket, and the key in it, which is empty for the whole store."""

    store: str
    key: str


def parse_declared_url(url: str) -> ObjectUrl | None:
    """Parse a URL written by a person; None if it has a space, or no form in `FORMS`."""
    return None if " " in url else parse_object_url(url)


def parse_object_url(url: str) -> ObjectUrl | None:
    """Parse the URL of an object, whose key may contain spaces; None if it has no form in `FORMS`."""
    match = _URL.fullmatch(url)
    if match is None or {".", ".."} & set((match["key"] or "").split("/")):
        return None
    return ObjectUrl(match["store"], match["key"] or "")
