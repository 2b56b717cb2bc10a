"""Policy `quantile`: slack K (allowed lateness) as a quantile of recent delays, at the level that keeps the promise."""
