"""Kind `aggregate`: sliding-window aggregates by key (paper 002)."""
