"""SQL text of a query: translated to the sections of a query file, and written from them."""
