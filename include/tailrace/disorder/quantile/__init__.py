"""Policy `quantile`: K as a quantile of the newest delays, at the level at which the promise is kept."""
