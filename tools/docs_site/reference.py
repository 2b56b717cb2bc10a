"""The pages of the reference, which are written from the models whenever the site is built."""

from __future__ import annotations

from docs_site import commands, query_fields, tables


def pages() -> dict[str, str]:
    """Return the text of each page of the reference, by its path among the pages."""
    fields = {f"reference/{name}.md": text for name, text in query_fields.pages().items()}
    return fields | {"reference/tables.md": tables.page(), "reference/commands.md": commands.page()}
