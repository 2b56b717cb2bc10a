"""All functions; importing this module registers them."""

from tailrace.expressions import conditionals, nested, numbers, operators, texts, time_formats, times, zoned_times

__all__ = ["conditionals", "nested", "numbers", "operators", "texts", "time_formats", "times", "zoned_times"]
