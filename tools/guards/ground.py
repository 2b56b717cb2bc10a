"""Guards of the room `ground`."""

from __future__ import annotations

from guards.mutation import Mutation

KEYS = "tests/unit/ground/test_key_lists.py"
ROOTS = "tests/unit/ground/test_source_roots.py"
NUMBERS = "tests/unit/ground/test_number_types.py"

MUTATIONS = (
    Mutation(
        "answers with lists are compared",
        "ground/matching.py",
        "if not pa.types.is_nested(column.type):",
        "if True:",
        ("tests/unit/ground/test_matching.py",),
    ),
    Mutation(
        "decimals are the nearest doubles: of functions",
        "ground/value_column.py",
        "numbers = as_doubles(self.column)",
        "numbers = self.column.cast(pa.float64(), safe=False)",
        ("tests/unit/cli/test_decimals_as_doubles.py::test_functions",),
    ),
    Mutation(
        "decimals are the nearest doubles: divided only where both doubles are exact",
        "ground/number_types.py",
        "if ((high == low >> 63) & (low >= -EXACT) & (low <= EXACT)).all():",
        "if True:",
        (f"{NUMBERS}::test_a_decimal_is_the_nearest_double",),
    ),
    Mutation(
        "decimals are the nearest doubles: in lists, too",
        "ground/number_types.py",
        "column = column.cast(pa.list_(pa.string()))",
        "pass",
        (f"{NUMBERS}::test_the_numbers_of_lists_are_the_nearest_doubles",),
    ),
    Mutation(
        "of names that differ in case alone the nearest is named",
        "ground/near_names.py",
        "get_close_matches(word, by_folded[near[0]], 1, 0)[0]",
        "by_folded[near[0]][0]",
        ("tests/unit/ground/test_near_names.py",),
    ),
    Mutation(
        "lists of keys: quotes and control characters are escaped",
        "ground/json_rows.py",
        "if not pc.any(escaped, min_count=0).as_py():",
        "if True:",
        (KEYS,),
    ),
    Mutation(
        "lists of keys: a null is no empty text",
        "ground/json_rows.py",
        'return texts.fill_null("null")',
        "return texts.fill_null('\"\"')",
        (KEYS,),
    ),
    Mutation(
        "INT96 times in microseconds",
        "ground/times.py",
        'INT96_UNIT = "us"',
        'INT96_UNIT = "ns"',
        ("tests/unit/sources/test_parquet_files.py", "tests/unit/generators/test_replay.py"),
    ),
    Mutation(
        "source roots: symbolic links are followed",
        "ground/source_roots.py",
        "resolved = Path(os.path.realpath(path))",
        "resolved = Path(path)",
        (ROOTS,),
    ),
    Mutation(
        "source roots: nothing outside of them",
        "ground/source_roots.py",
        "any(resolved.is_relative_to(root) for root in roots)",
        "any(True for root in roots)",
        (ROOTS,),
    ),
    Mutation(
        "source roots: no relative one",
        "ground/source_roots.py",
        "if not named or not all(map(os.path.isabs, named)):",
        "if not named:",
        (ROOTS,),
    ),
    Mutation(
        "regular files: no link to nothing",
        "ground/regular_files.py",
        "if error.errno in (errno.ENOENT, errno.ELOOP) and path.is_symlink():",
        "if False:",
        ("tests/unit/sources/test_special_files.py",),
    ),
    Mutation(
        "columns and types of a source are told from a source that is away",
        "ground/errors.py",
        "Unfit(refused.problems) if type(refused) is Refused else refused",
        "refused",
        ("tests/unit/sources/test_file_feed.py",),
    ),
    Mutation(
        "one process in a directory at a time",
        "ground/held_directory.py",
        "            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            pass\n",
        ("tests/unit/ground/test_held_directory.py",),
    ),
    Mutation(
        "a refusal in other words keeps its notes",
        "ground/errors.py",
        "            other.add_note(note)",
        "            pass",
        ("tests/unit/cli/test_written_answers.py::test_a_refusal_in_the_words_of_python_keeps_its_notes",),
    ),
    Mutation(
        "a note that can't be made leaves the error as it is",
        "ground/notes.py",
        "with suppress(Exception):",
        "with suppress(BlockingIOError):",
        ("tests/unit/cli/test_written_answers.py::test_a_note_says_what_the_warehouse_does",),
    ),
    Mutation(
        "history holds the whole times",
        "ground/times.py",
        "micros = pa.array(whole_times(tuples, name)).cast(TIME)",
        "micros = pa.array(np.asarray(tuples.column(name)) * 1000).cast(TIME)",
        ("tests/unit/cli/test_whole_times.py::test_history_holds_whole_times_and_corrections_order_by_them",),
    ),
    Mutation(
        "status: an interruption that became another error is one",
        "ground/interruptions.py",
        " or _asked.is_set()",
        "",
        ("tests/unit/stream/test_status_reporter.py",),
    ),
)
