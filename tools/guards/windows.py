"""Guards of the room `windows`."""

from __future__ import annotations

from guards.mutation import Mutation

CALENDAR, SLIDING = "tests/unit/windows/test_calendar.py", "tests/unit/windows/test_sliding.py"

MUTATIONS = (
    Mutation(
        "calendar: a day without a midnight begins when clocks first show its date",
        "windows/calendar.py",
        "if first <= second:  # the local time occurs once or twice",
        "if True:",
        (CALENDAR,),
    ),
    Mutation(
        "calendar: the cost goes by the days that are there",
        "windows/calendar.py",
        "_NEAR = 400  # days",
        "_NEAR = 1 << 17",
        (CALENDAR,),
    ),
    Mutation(
        "calendar: years beyond the calendar of the machine",
        "windows/calendar.py",
        "number - cycles * cycle)",
        "number)",
        (CALENDAR,),
    ),
    Mutation(
        "calendar: a date that never was does not come between two windows",
        "windows/calendar.py",
        "return self.to_scale(end - 1) if isinstance(end, np.ndarray) else self._number_at(end - 1)",
        "return self.to_scale(end) - 1 if isinstance(end, np.ndarray) else self._number_at(end) - 1",
        (CALENDAR,),
    ),
    Mutation(
        "calendar: the longest quarter has 92 days",
        "windows/calendar.py",
        '"quarter": 92,',
        '"quarter": 90,',
        (CALENDAR,),
    ),
    Mutation(
        "an offset moves panes",
        "windows/sliding.py",
        "return event_ms - self.offset_ms if self.offset_ms else event_ms",
        "return event_ms",
        (SLIDING,),
    ),
    Mutation(
        "sessions: a tuple that comes exactly the gap later belongs to it, as in Spark",
        "windows/sessions.py",
        "firsts[1:] - reached[:-1] > reach_ms",
        "firsts[1:] - reached[:-1] >= reach_ms",
        ("tests/unit/correction/test_session_corrections.py",),
    ),
)
