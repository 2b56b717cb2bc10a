"""The pages of the reference, which are written from the models whenever the site is built."""

from __future__ import annotations

from docs_site import commands, errors, query_fields, tables


def pages() -> dict[str, str]:
    """Return the text of each page of the reference, by its path among the pages."""
    texts = query_fields.pages() | {"tables": tables.page(), "commands": commands.page(), "errors": errors.page()}
    return {f"reference/{name}.md": text for name, text in texts.items()}
