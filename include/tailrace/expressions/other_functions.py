"""Functions of Spark SQL that expressions lack, with reasons and replacements; other unknown names are misspelt."""

from __future__ import annotations

from difflib import get_close_matches

from tailrace.expressions.errors import AGGREGATE
from tailrace.expressions.registry import FUNCTIONS

_AGGREGATES = """
any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
collect_set corr count count_distinct count_if count_min_sketch covar_pop covar_samp every first first_value grouping
grouping_id histogram_numeric hll_sketch_agg hll_union_agg kurtosis last last_value listagg max max_by mean measure
median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop
stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
"""
_WINDOWS = "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value"
_CLOCKS = """
now current_date current_timestamp current_time current_timezone localtimestamp curdate
"""
_CHANCES = """
rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
"""
_OUTSIDE = """
input_file_name input_file_block_start input_file_block_length current_user user session_user current_catalog
current_database current_schema current_path version java_method reflect try_reflect python_worker_logs raise_error
assert_true sql_keywords collations
"""
_GENERATORS = """
explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode
variant_explode_outer range
"""
_WINDOW_OF_TIME = "session_window time_bucket window window_time"
_MISSING = """
acos acosh aes_decrypt aes_encrypt aggregate approx_top_k_estimate array_append array_compact array_distinct
array_except array_insert array_intersect array_join array_max array_min array_position array_prepend array_remove
array_repeat array_sort array_union arrays_overlap arrays_zip ascii asin asinh atan atan2 atanh base64 bin binary
bit_count bit_get bit_length bround cbrt char chr collate collation conv cos cosh cot crc32 csc decode degrees elt
encode expm1 factorial filter find_in_set flatten forall format_string from_avro from_csv from_protobuf from_xml getbit
hash hex hypot is_valid_utf8 is_valid_variant is_variant_null json_array_length json_object_keys levenshtein log1p
luhn_check make_dt_interval make_interval make_time make_timestamp_ltz make_timestamp_ntz make_valid_utf8
make_ym_interval map map_concat map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with
mask named_struct next_day parse_json parse_url printf quote reduce regexp_count regexp_extract_all regexp_instr reverse
rint schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_xml sentences sequence shiftleft shiftright
shiftrightunsigned sin sinh slice sort_array soundex space str_to_map struct tan tanh time time_diff time_from_micros
time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc to_avro to_binary to_csv
to_json to_protobuf to_time to_variant_object to_xml transform transform_keys transform_values translate try_aes_decrypt
try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_parse_json try_parse_url
try_to_binary try_to_time try_url_decode try_validate_utf8 try_variant_get typeof unbase64 unhex url_decode url_encode
validate_utf8 variant_get width_bucket xxhash64 zip_with
"""
_FAMILIES = ("bitmap_", "hll_", "kll_", "st_", "theta_", "tuple_", "vector_", "xpath")
"""The first letters of functions of sketches, bits, geometries, vectors and XML."""

_INSTEAD = {
    "array_size": "size(a)",
    "btrim": "trim(both from a), or trim(both '…' from a)",
    "convert_timezone": "from_utc_timestamp(ts, 'Europe/Berlin'), or to_utc_timestamp(ts, 'Europe/Berlin')",
    "date_from_unix_date": "date_add(date '1970-01-01', n)",
    "dayname": "date_format(d, 'EEE')",
    "e": "exp(1)",
    "element_at": "a[0], which counts from 0; m['key'] of a map",
    "format_number": "cast(round(x, 2) as decimal(18, 2))",
    "from_unixtime": "timestamp_seconds(n); as text date_format(timestamp_seconds(n), 'yyyy-MM-dd HH:mm:ss')",
    "log": "ln(x); to a base: ln(x) / ln(base)",
    "make_timestamp": "to_timestamp('2024-02-29 10:20:30'), of a text",
    "map_contains_key": "m['key'] is not null",
    "monthname": "date_format(d, 'MMM')",
    "months_between": "datediff(end, start), in days",
    "nanvl": "if(isnan(x), y, x)",
    "overlay": "concat(left(a, n), b, substring(a, m))",
    "pi": "3.141592653589793D",
    "position": "locate(search, a), or instr(a, search)",
    "positive": "the number itself",
    "radians": "x * 3.141592653589793D / 180",
    "regexp_substr": "nullif(regexp_extract(a, r'…', 0), '')",
    "sec": "second(ts), of a time",
    "substring_index": "split_part(a, '.', 1), of which 1 is the part's number",
    "to_number": "cast(a as decimal(18, 2))",
    "to_char": "date_format(ts, 'yyyy-MM-dd'), of a time",
    "to_unix_timestamp": "unix_seconds(to_timestamp(a))",
    "to_varchar": "date_format(ts, 'yyyy-MM-dd'), of a time",
    "unix_timestamp": "unix_seconds(ts) of a time; without one it is the clock, and no answer depends on it",
    "try_element_at": "get(a, 0)",
    "try_to_number": "try_cast(a as decimal(18, 2))",
    **dict.fromkeys(("to_timestamp_ltz", "to_timestamp_ntz"), "to_timestamp(a)"),
    **dict.fromkeys(("sha", "sha1", "sha2"), "md5(a), which is another digest"),
    **{
        name: f"cast(a as {name})"
        for name in ("bigint", "boolean", "decimal", "double", "float", "int", "smallint", "string", "tinyint")
    },
}
"""Replacements of missing functions."""

_BY_GRAMMAR = {
    "and": "a and b",
    "between": "a between 1 and 2",
    "case": "case when a then b end",
    "cast": "cast(a as int)",
    "div": "a div b",
    "exists": "a in ('…')",
    "extract": "extract(hour from ts)",
    "ilike": "a ilike '…'",
    "in": "a in ('…')",
    "like": "a like '…'",
    "not": "not a",
    "or": "a or b",
    "rlike": "a rlike '…'",
    "try_cast": "try_cast(a as int)",
    "when": "case when a then b end",
}
"""Keywords of the grammar, and how each is written."""

_MEANT = 0.75
"""The least similarity at which a name is suggested; less would mislead, as with split and split_part."""
_LISTED = "one of the functions that docs/expressions.md lists"

_MISSING_HERE = "a function of Spark SQL that expressions lack"
_REFUSED = {
    **dict.fromkeys(_MISSING.split(), (_MISSING_HERE, _LISTED)),
    **dict.fromkeys(_GENERATORS.split(), ("a function of several rows", "a column for each: a[0], or a.b")),
    **dict.fromkeys(_WINDOW_OF_TIME.split(), ("of windows, which the query has", "window: 5 min, in the query")),
    **{name: (_MISSING_HERE, remedy) for name, remedy in _INSTEAD.items()},
    **dict.fromkeys(_AGGREGATES.split(), ("an aggregate", AGGREGATE)),
    **dict.fromkeys(_WINDOWS.split(), ("a window function", AGGREGATE)),
    **dict.fromkeys(_CLOCKS.split(), ("the clock, and no answer depends on it", "the stream's own times")),
    **dict.fromkeys(_CHANCES.split(), ("chance, and no answer depends on it", "a column of the source")),
    **dict.fromkeys(_OUTSIDE.split(), ("something outside of the record", "a column of the source")),
}

WITHOUT_PARENTHESES = frozenset(
    word for word in (*_CLOCKS.split(), *_OUTSIDE.split()) if word.startswith(("current_", "local"))
)
"""Words that are function calls without parentheses. `user` is not among them, as streams have columns of that name."""


def refusal_of(written: str, *others: str) -> tuple[str, str]:
    """Return the fault of a function that expressions lack, and the remedy.

    `others` are further names that are allowed there.
    """
    name = written.lower()
    if name in _REFUSED:
        what, remedy = _REFUSED[name]
        return f"{name} is {what}", remedy
    if name.startswith(_FAMILIES):
        return f"{name} is {_MISSING_HERE}", _LISTED
    if name in _BY_GRAMMAR:
        return f"{name} is no function by its name and arguments alone", _BY_GRAMMAR[name]
    near = get_close_matches(name, [*FUNCTIONS, *_BY_GRAMMAR, *others], 1, _MEANT)
    return f"there is no function {written}", near[0] if near else _LISTED
