"""The query's clock: ticks, slack policies (one file each), the frontier, coverage."""
