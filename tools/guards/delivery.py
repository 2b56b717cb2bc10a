"""Guards of the room `delivery`."""

from __future__ import annotations

from guards.mutation import Mutation

ANSWER_LOG = "tests/unit/delivery/test_answer_log.py"
CURRENT = "tests/unit/delivery/test_current.py"
DELIVERY = "tests/unit/stream/test_delivery.py"
POSTGRES = "tests/answers_postgres/test_delivery.py"
DELIVERED = "tests/unit/delivery/test_delivered.py"

MUTATIONS = (
    Mutation(
        "format: current is read of none of another",
        "delivery/reading.py",
        "    layout.require_format()\n",
        "",
        ("tests/unit/storage/test_format.py::test_a_stream_in_another_format_is_refused_and_stays_as_it_is",),
    ),
    Mutation(
        "delivered: another target has nothing yet",
        "delivery/delivered.py",
        "    return note.snapshot if note.uri == uri else _NOTHING\n",
        "    return note.snapshot\n",
        (f"{DELIVERED}::test_another_target_has_nothing_of_what_the_one_before_has",),
    ),
    Mutation(
        "delivered: a topic lacks a batch that is not sent yet",
        "delivery/topic_answers.py",
        "        if _has_sent(tables):\n",
        "        if True:\n",
        (f"{DELIVERED}::test_a_topic_lacks_a_batch_that_is_written_and_not_sent",),
    ),
    Mutation(
        "delivered: a transaction of PostgreSQL is noted once it is committed",
        "delivery/postgres.py",
        "            session.commit()\n",
        "            note_delivered(layout, POSTGRES, declared.uri(), answers)\n            session.commit()\n",
        (f"{DELIVERED}::test_a_transaction_that_failed_has_delivered_nothing",),
    ),
    Mutation(
        "delivered: no statistics are read where no table has a new version",
        "delivery/delivered.py",
        "    if (noted.uri, noted.versions) != (uri, versions):\n",
        "    if True:\n",
        (f"{DELIVERED}::test_a_delivery_without_a_new_version_reads_no_statistics_of_files",),
    ),
    Mutation(
        "delivered: another table with the same version is counted",
        "delivery/delivered.py",
        'f"{table.metadata().id} {table.version()}"',
        'f"another {table.version()}"',
        (f"{DELIVERED}::test_a_table_in_the_place_of_another_is_counted_though_its_version_is_the_same",),
    ),
    Mutation(
        "delivered: what is written during a delivery is not noted with it",
        "delivery/postgres.py",
        "note_delivered(layout, POSTGRES, declared.uri(), answers)",
        "note_delivered(layout, POSTGRES, declared.uri(), open_answers(OpenedTables(layout)))",
        (f"{DELIVERED}::test_what_is_written_during_a_delivery_is_not_noted_with_it",),
    ),
    Mutation(
        "delivered: a damaged note is written again",
        "delivery/delivered.py",
        "        except (FileNotFoundError, ValueError, TypeError, KeyError):\n",
        "        except FileNotFoundError:\n",
        (f"{DELIVERED}::test_a_damaged_note_says_nothing_and_is_written_again",),
    ),
    Mutation(
        "places: one that fails keeps no answers from the others",
        "delivery/places.py",
        "            failures.append(failure)",
        "            raise",
        (f"{DELIVERY}::test_a_place_that_fails_keeps_no_answers_from_the_others_and_the_job_says_so",),
    ),
    Mutation(
        "chains: a version that is gone upstream is taken back",
        "delivery/answer_difference.py",
        "gone = known.filter(pa.array(~known_retracted & (identity.find(known, newest) < 0)))",
        "gone = known.slice(0, 0)",
        (f"{ANSWER_LOG}::test_an_answer_that_upstream_gives_no_more_is_taken_back",),
    ),
    Mutation(
        "chains: a version that is as before is not read again",
        "delivery/answer_difference.py",
        "is_new = ~is_same & ~(is_retracted & was_retracted)",
        "is_new = ~(is_retracted & was_retracted)",
        (f"{ANSWER_LOG}::test_a_correction_that_changes_nothing_sends_nothing",),
    ),
    Mutation(
        "chains: a later version is the newest in the log",
        "delivery/answer_difference.py",
        "np.maximum(as_of, earliest)",
        "as_of",
        ("tests/unit/delivery/test_answer_difference.py",),
    ),
    Mutation(
        "chains: an answer of a null key has an id of its own",
        "delivery/answer_log.py",
        'versions["key"].cast(pa.string()), "/"), end)',
        'pc.fill_null(versions["key"].cast(pa.string()), ""), "/"), end)',
        (f"{ANSWER_LOG}::test_answers_of_a_null_key_and_an_empty_one_are_two",),
    ),
    Mutation(
        "chains: a look reads no file of other windows",
        "delivery/answer_log.py",
        "pa.array(overlap(low, high, ends, ends))",
        "pa.array(low < AFTER_ALL)",
        (f"{ANSWER_LOG}::test_a_look_reads_no_file_of_other_windows",),
    ),
    Mutation(
        "chains: no commit of the log goes before the reader has read it",
        "delivery/answer_log.py",
        "cleanup_expired_logs=None if is_read else False",
        "cleanup_expired_logs=None",
        (f"{ANSWER_LOG}::test_old_commits_go_once_the_reader_has_read_all_before",),
    ),
    Mutation(
        "changes: a commit with the number of a lost one is another",
        "delivery/answer_changes.py",
        " or self._is_other(name, since)",
        "",
        (f"{CURRENT}::test_a_restored_query_that_has_run_past_what_was_read_loses_nothing",),
    ),
    Mutation(
        "current: a table in the place of another is read from its start",
        "delivery/answer_changes.py",
        "elif before != self._id(name) or since is None",
        "elif since is None",
        (f"{CURRENT}::test_a_table_in_the_place_of_another_is_read_from_its_start",),
    ),
    Mutation(
        "current: a log that was cleaned up is no gap",
        "delivery/changed_files.py",
        "            return None",
        "            continue",
        (f"{CURRENT}::test_a_log_that_was_cleaned_up_is_no_gap",),
    ),
    Mutation(
        "current: a correction comes in one commit",
        "delivery/groups.py",
        "pa.concat_tables([self._in_current(streamed), corrected])",
        "self._in_current(pa.concat_tables([streamed, corrected]))",
        (f"{CURRENT}::test_a_correction_comes_in_one_commit_with_what_it_adds",),
    ),
    Mutation(
        "current: a pair that the stream gives again is there once",
        "delivery/groups.py",
        "return select(streamed, self.public.model.identity.find(streamed, there) >= 0)",
        "return streamed.slice(0, 0)",
        (f"{CURRENT}::test_a_pair_that_the_stream_gives_again_is_there_once",),
    ),
    Mutation(
        "current: a late tuple changes the coverage of its windows",
        "delivery/answer_changes.py",
        '*(["late"] if self.public.model.can_lack_tuples else [])',
        "",
        (f"{CURRENT}::test_equals_what_readers_get",),
    ),
    Mutation(
        "current: the position stands in the last commit",
        "delivery/current.py",
        "commit_properties=None if changes.added.num_rows else _commit(position),",
        "commit_properties=_commit(position),",
        (f"{CURRENT}::test_a_refresh_that_died_between_its_commits_is_repeated",),
    ),
    Mutation(
        "current: lost corrections are no return to what was streamed",
        "delivery/current.py",
        "    require_corrections(tables)",
        "    pass",
        (f"{CURRENT}::test_lost_corrections_are_no_return_to_what_was_streamed",),
    ),
    Mutation(
        "current: a damaged one is made again",
        "delivery/current.py",
        "shutil.rmtree(path)  # it follows from the other tables",
        "raise",
        (f"{CURRENT}::test_a_damaged_one_is_made_again",),
    ),
    Mutation(
        "current: it is compacted though a refresh makes two commits",
        "delivery/current.py",
        "before // _COMPACT_EVERY != Tables",
        "before % _COMPACT_EVERY == _COMPACT_EVERY - 1 and -1 != Tables",
        (f"{CURRENT}::test_it_is_compacted_though_a_refresh_makes_two_commits",),
    ),
    Mutation(
        "current: batches without answers are not read again for ever",
        "delivery/current.py",
        " and affected.commits < _MOST_COMMITS",
        "",
        (f"{CURRENT}::test_batches_without_answers_are_not_read_again_for_ever",),
    ),
)
