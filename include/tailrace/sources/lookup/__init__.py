"""Tables beside a stream, for its lookups and dimension joins: files, Delta tables, PostgreSQL."""
