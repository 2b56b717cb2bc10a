"""Guards of the room `delivery`: of answers in a topic."""

from __future__ import annotations

from guards.mutation import Mutation

TOPIC = "tests/unit/delivery/test_topic_answers.py"

MUTATIONS = (
    Mutation(
        "kafka: a lost or damaged position sends everything",
        "delivery/topic_position.py",
        "except (FileNotFoundError, ValueError, TypeError):",
        "except FileNotFoundError:",
        (f"{TOPIC}::test_a_lost_position_sends_everything",),
    ),
    Mutation(
        "kafka: another topic gets everything",
        "delivery/topic_answers.py",
        "if position is None or not is_same or",
        "if position is None or",
        (f"{TOPIC}::test_another_topic_gets_everything",),
    ),
    Mutation(
        "kafka: the answers of a rebuild are of a generation of their own",
        "delivery/topic_answers.py",
        "or position.created != _created(tables):",
        "or False:",
        (f"{TOPIC}::test_a_rebuild_of_a_stream_without_corrections_is_sent",),
    ),
    Mutation(
        "kafka: a restored backup is of a generation of its own",
        "delivery/topic_answers.py",
        "generation = max(_created(tables), wall_ms(), 0",
        "generation = max(_created(tables), 0",
        (f"{TOPIC}::test_a_backup_from_before_a_rebuild_is_shown",),
    ),
    Mutation(
        "kafka: a generation is greater than the last, whatever the clock",
        "delivery/topic_answers.py",
        "0 if before is None else before.generation + 1",
        "0",
        (f"{TOPIC}::test_a_rebuild_is_shown_though_its_clock_is_behind",),
    ),
    Mutation(
        "kafka: the stream sends as the place does",
        "delivery/answer_topic.py",
        "return 0 if position is None else position.generation",
        "return 0 if position is None else position.created",
        (f"{TOPIC}::test_a_rebuild_is_shown_though_its_clock_is_behind",),
    ),
    Mutation(
        "kafka: a topic that was taken out for a while gets what it missed",
        "delivery/topic_answers.py",
        "        TopicPosition.file(layout).unlink(missing_ok=True)",
        "        pass",
        (f"{TOPIC}::test_a_topic_that_was_taken_out_for_a_while_gets_what_it_missed",),
    ),
    Mutation(
        "kafka: a record names its query",
        "delivery/answer_topic.py",
        'headers = [("query", self.query.encode()), ',
        'headers = [("query", b""), ',
        (f"{TOPIC}::test_a_new_stream_is_not_sent_twice",),
    ),
    Mutation(
        "kafka: a rebuild takes back the keys that are gone",
        "delivery/topic_answers.py",
        "for keys in earlier_keys(self.layout, since):",
        "for keys in ():",
        (f"{TOPIC}::test_a_rebuild_takes_back_what_there_is_no_more",),
    ),
    Mutation(
        "kafka: a session's start is part of its key",
        "delivery/earlier_keys.py",
        'and (name != "window_start" or has_sessions)',
        'and name != "window_start"',
        (f"{TOPIC}::test_a_rebuild_of_a_stream_without_corrections_is_sent",),
    ),
    Mutation(
        "kafka: the position moves after the sends",
        "delivery/topic_answers.py",
        "            self._send_changed(tables, rows)\n            self._advance(changes, position.generation)",
        "            self._advance(changes, position.generation)\n            self._send_changed(tables, rows)",
        (f"{TOPIC}::test_a_delivery_that_dies_at_any_record_is_repeated",),
    ),
    Mutation(
        "kafka: a version that is gone does not hold back what counts",
        "delivery/topic_answers.py",
        "topic.send(rows.select(columns), self._order(rows, ordered_after))",
        "topic.send(rows.select(columns))",
        (f"{TOPIC}::test_a_version_that_is_gone_does_not_hold_back_what_counts",),
    ),
    Mutation(
        "kafka: the topic of a new stream has all that it gives",
        "delivery/topic_answers.py",
        "< 0 and TopicPosition.read(layout) is None:",
        "< -1:",
        (f"{TOPIC}::test_a_new_stream_is_not_sent_twice",),
    ),
)
