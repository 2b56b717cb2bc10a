"""Guards of the room `sources`: Kafka."""

from __future__ import annotations

from guards.mutation import Mutation

TOPIC = "tests/kafka/test_source.py"

MUTATIONS = (
    Mutation(
        "null keys: a live topic waits for a key that shows the type",
        "sources/kafka_feed.py",
        "not (self._live and NULL in shown.types.values())",
        "True",
        (
            "tests/unit/sources/test_kafka_feed.py::test_a_live_topic_waits_for_a_key_and_a_bounded_one_takes_nulls_for_texts",
        ),
    ),
    Mutation(
        "a live run of a topic waits for records with a column",
        "sources/kafka_feed.py",
        "if optional and not self._live:",
        "if optional:",
        ("tests/unit/sources/test_kafka_feed.py",),
    ),
    Mutation(
        "a live run of a topic names no column that later records may have, beside one that each has to have",
        "sources/kafka_feed.py",
        "raise MissingColumn([*missing_columns, *([] if self._live else optional)])",
        "raise MissingColumn([*missing_columns, *optional])",
        ("tests/unit/sources/test_kafka_feed.py",),
    ),
    Mutation(
        "a topic's records stay in the order of their partition",
        "sources/kafka_records.py",
        "np.maximum.accumulate(merged_ms[own])",
        "merged_ms[own]",
        ("tests/properties/test_kafka_records.py",),
    ),
    Mutation(
        "a topic's records behind the end of a cut are left out",
        "sources/kafka_fetch.py",
        "& (of_message < ends[of_part])",
        "",
        ("tests/properties/test_kafka_records.py",),
    ),
    Mutation(
        "Kafka's errors of access: forgotten once the client was let in",
        "sources/kafka_access.py",
        """        self._newest = None

    @property""",
        """        pass

    @property""",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "Kafka's errors of access: told in place of a timeout",
        "sources/kafka_access.py",
        "self._newest = error",
        "pass",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "Kafka's settings that the client does not take are refused",
        "sources/kafka_access.py",
        "except KafkaException as error:\n        remedy",
        "except ZeroDivisionError as error:\n        remedy",
        ("tests/unit/sources/test_kafka_access.py",),
    ),
    Mutation(
        "a topic: the password goes to the brokers of its connection alone",
        "sources/kafka_servers.py",
        "if server and server.casefold() not in known",
        "if False",
        ("tests/unit/sources/test_kafka_servers.py", "tests/unit/stream/test_answer_topic.py"),
    ),
    Mutation(
        "a topic: a connection without brokers gives its password to none",
        "sources/kafka_servers.py",
        "brokers, where = brokers_of(read), ",
        "brokers, where = brokers_of(read) or self.bootstrap, ",
        ("tests/unit/sources/test_kafka_servers.py",),
    ),
    Mutation(
        "a topic: records that its retention has deleted",
        "sources/kafka_feed.py",
        "if first[part] > offset:",
        "if False:",
        (f"{TOPIC}::test_records_that_retention_deleted_before_they_were_read_stop_the_stream",),
    ),
    Mutation(
        "a topic: one that was made again",
        "sources/kafka_feed.py",
        "if identity is not None and now != identity:",
        "if False:",
        (f"{TOPIC}::test_a_topic_made_again_stops_the_stream",),
    ),
    Mutation(
        "a topic: records of a cut that are gone",
        "sources/kafka_fetch.py",
        'raise overtaken(cut.topic, f"{cut.path}: {error.str()}")',
        "raise KafkaException(error)",
        (f"{TOPIC}::test_records_that_retention_deleted_before_they_were_read_stop_the_stream",),
    ),
    Mutation(
        "a topic: its servers in another order, or in capitals, are the same",
        "sources/kafka_servers.py",
        """    named = {address.strip().lower() for address in servers.split(",")} - {""}\n    return sorted(""",
        """    named = {address.strip() for address in servers.split(",")} - {""}\n    return list(""",
        ("tests/unit/sources/test_kafka_source.py",),
    ),
    Mutation(
        "a topic: a broker without a port has the default one",
        "sources/kafka_servers.py",
        'f"{name}:{DEFAULT_PORT}"',
        "name",
        ("tests/unit/sources/test_kafka_source.py",),
    ),
    Mutation(
        "a topic without Kafka's client is refused where it is declared",
        "sources/kafka_topic.py",
        '        validate_extra("kafka")\n',
        "",
        ("tests/unit/cli/test_core_alone.py",),
    ),
)
