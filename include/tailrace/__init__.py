"""Continuous queries over out-of-order streams that answer early and end up right."""

__version__ = "0.1.0"
