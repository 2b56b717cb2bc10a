"""Functions of texts, which consist of Unicode code points."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from tailrace.expressions.java_regex import Pattern, translate
from tailrace.expressions.literals import TypeFault
from tailrace.expressions.literals import text as text_of
from tailrace.expressions.plan import Plan, PythonFunction, Term
from tailrace.expressions.registry import FUNCTIONS, constant_of, function, simple, take
from tailrace.expressions.types import BOOLEAN, INT, TEXT, text_literal

_LONGEST = 1 << 20
_TOO_LONG = "a text of more than 1 MB"
"""The limit of a text whose length a number in a record sets: one record must not exhaust the memory."""


def _cased(name: str, meaning: str, alias: str) -> None:
    @function(f"{name}(text)", meaning, alias)
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        """Map the case of texts: non-ASCII ones by Python, which follows Unicode's full rules, as Spark does."""
        term = take(plan, terms[0], TEXT)
        mapped = f"unicode_{name}"
        plan.functions[mapped] = _mapped(name)
        is_ascii = f"strlen({term.sql}) = length({term.sql})"
        return plan.step(f"CASE WHEN {is_ascii} THEN {name}({term.sql}) ELSE {mapped}({term.sql}) END", TEXT, term)


def _mapped(name: str) -> PythonFunction:
    map_case = str.lower if name == "lower" else str.upper

    def map_all(texts: pa.ChunkedArray) -> pa.Array:
        return pa.array([None if text is None else map_case(text) for text in texts.to_pylist()], pa.string())

    return PythonFunction(map_all)


_cased("lower", "the text in lower case", "lcase")
_cased("upper", "the text in upper case", "ucase")


@function("initcap(text)", "the text with a capital at the start of each word, after a blank, and small letters")
def _initcap(plan: Plan, terms: Sequence[Term]) -> Term:
    term = take(plan, terms[0], TEXT)
    plan.functions["words_in_title_case"] = PythonFunction(_title_cased)
    return plan.step(f"words_in_title_case({term.sql})", TEXT, term)


def _title_cased(texts: pa.ChunkedArray) -> pa.Array:
    words = [None if text is None else text.lower().split(" ") for text in texts.to_pylist()]
    titles = [None if each is None else " ".join(word[:1].title() + word[1:] for word in each) for each in words]
    return pa.array(titles, pa.string())


@function("split(text, pattern)", "the parts between the matches of a literal regular expression, as an array")
def _split(plan: Plan, terms: Sequence[Term]) -> Term:
    source = take(plan, terms[0], TEXT)
    pattern = translate(str(constant_of(terms[1], TEXT, "the pattern")), has_end=False)
    _require_text(pattern, r"r'\|' for a | alone")
    sql = f"string_split_regex({source.sql}, {text_literal(pattern.text)})"
    return plan.step(sql, pa.list_(TEXT), source)


simple(
    "length(text)", "the number of its characters", "length({0})", [TEXT], INT, "char_length", "character_length", "len"
)
simple("octet_length(text)", "the number of its bytes in UTF-8", "strlen({0})", [TEXT], INT)
simple(
    "left(text, length)", "its first characters", "left({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)", [TEXT, INT], TEXT
)
simple(
    "right(text, length)", "its last characters", "right({0}, CASE WHEN {1} < 0 THEN 0 ELSE {1} END)", [TEXT, INT], TEXT
)
simple(
    "replace(text, search, replacement)",
    "the text with each occurrence replaced",
    "replace({0}, {1}, {2})",
    [TEXT] * 3,
    TEXT,
)
simple(
    "instr(text, search)",
    "the place of the first occurrence, from 1; 0 where there is none",
    "instr({0}, {1})",
    [TEXT] * 2,
    INT,
)
simple("locate(search, text)", "as instr, with its arguments the other way round", "instr({1}, {0})", [TEXT] * 2, INT)
simple("startswith(text, search)", "whether it begins so", "starts_with({0}, {1})", [TEXT] * 2, BOOLEAN)
simple("endswith(text, search)", "whether it ends so", "ends_with({0}, {1})", [TEXT] * 2, BOOLEAN)
simple("contains(text, search)", "whether it holds that", "contains({0}, {1})", [TEXT] * 2, BOOLEAN)
simple("md5(text)", "its MD5 digest in hexadecimal digits", "md5({0})", [TEXT], TEXT)


def substring(plan: Plan, terms: Sequence[Term]) -> Term:
    """Return part of a text, from a character counted from 1, or from the end if negative."""
    source, start = take(plan, terms[0], TEXT), take(plan, terms[1], INT)
    given = [take(plan, term, INT) for term in terms[2:]]
    n = f"length({source.sql})"
    from_start = (
        f"CASE WHEN {start.sql} > 0 THEN {start.sql} - 1 WHEN {start.sql} < 0 THEN {n} + {start.sql} ELSE 0 END"
    )
    first = f"CAST({from_start} AS BIGINT)"
    end = f"least({first} + {given[0].sql}, {n})" if given else n
    sql = f"substring({source.sql}, greatest({first}, 0) + 1, greatest({end} - greatest({first}, 0), 0))"
    null = " OR ".join(f"{term.sql} IS NULL" for term in (source, start, *given))
    return plan.step(f"CASE WHEN {null} THEN NULL ELSE {sql} END", TEXT, source, start, *given)


function(
    "substring(text, start[, length])", "a part of it, from a character counted from 1, or from -1 at its end", "substr"
)(substring)


def trim(plan: Plan, terms: Sequence[Term], side: str = "trim") -> Term:
    """Remove characters, blanks by default, from a text's ends."""
    taken = [take(plan, term, TEXT) for term in (terms if len(terms) > 1 else [*terms, text_of(" ")])]
    return plan.step(f"{side}({taken[0].sql}, {taken[1].sql})", TEXT, *taken)


for _side, _meaning in (("trim", "both its ends"), ("ltrim", "its beginning"), ("rtrim", "its end")):
    simple(f"{_side}(text)", f"the text without blanks at {_meaning}", f"{_side}({{0}}, ' ')", [TEXT], TEXT)


@function(
    "concat_ws(separator, text, …)",
    "the texts that are not null, with the separator between them",
    stops_at_null=False,
)
def _concat_ws(plan: Plan, terms: Sequence[Term]) -> Term:
    taken = [take(plan, term, TEXT) for term in terms]
    return plan.step(f"concat_ws({', '.join(term.sql for term in taken)})", TEXT, *taken)


@function(
    "split_part(text, delimiter, part)", "a part by its number from 1, or from -1 at the end; '' where there is none"
)
def _split_part(plan: Plan, terms: Sequence[Term]) -> Term:
    source, delimiter, part = (take(plan, term, dtype) for term, dtype in zip(terms, (TEXT, TEXT, INT), strict=True))
    sql = f"split_part({source.sql}, {delimiter.sql}, {part.sql})"
    whole = f"CASE WHEN {part.sql} IN (1, -1) THEN {source.sql} ELSE '' END"
    sql = f"CASE WHEN {delimiter.sql} = '' THEN {whole} ELSE {sql} END"
    present = f"{part.sql} = 0 AND {source.sql} IS NOT NULL AND {delimiter.sql} IS NOT NULL"
    return plan.checked(
        f"CASE WHEN {part.sql} IS NOT NULL AND {source.sql} IS NOT NULL AND {delimiter.sql} IS NOT NULL THEN {sql} END",
        TEXT,
        present,
        "a part number of 0",
        source,
        delimiter,
        part,
    )


@function("repeat(text, times)", "the text so many times")
def _repeat(plan: Plan, terms: Sequence[Term]) -> Term:
    source, times = take(plan, terms[0], TEXT), take(plan, terms[1], INT)
    count = f"CASE WHEN {times.sql} < 0 THEN 0 ELSE {times.sql} END"
    too_long = f"CAST({times.sql} AS BIGINT) * strlen({source.sql}) > {_LONGEST}"
    return plan.checked(f"repeat({source.sql}, {count})", TEXT, too_long, _TOO_LONG, source, times)


def _padded(name: str, side: str) -> None:
    @function(
        f"{name}(text, length[, pad])", f"the text of so many characters, filled on the {side} with blanks or the pad"
    )
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        source, length = take(plan, terms[0], TEXT), take(plan, terms[1], INT)
        pad = constant_of(terms[2], TEXT, "the pad") if terms[2:] else " "
        if not pad:
            raise TypeFault("the pad is empty", "a text of one character or more")
        count = f"CASE WHEN {length.sql} < 0 THEN 0 ELSE {length.sql} END"
        sql = f"{name}({source.sql}, {count}, {text_literal(str(pad))})"
        return plan.checked(sql, TEXT, f"{length.sql} > {_LONGEST}", _TOO_LONG, source, length)


_padded("lpad", "left")
_padded("rpad", "right")


def like(plan: Plan, terms: Sequence[Term], escape: str = "\\", ignores_case: bool = False) -> Term:
    """Match a text with a literal pattern of % and _; ignoring case with `ignores_case`."""
    pattern = str(constant_of(terms[1], TEXT, "the pattern"))
    if re.search(
        rf"{re.escape(escape)}(?![%_{re.escape(escape)}])", re.sub(re.escape(escape) + re.escape(escape), "", pattern)
    ):
        raise TypeFault(
            f"the pattern {pattern!r} has {escape} before no %, _ or {escape}",
            f"{escape * 2} for the character {escape}",
        )
    source = take(plan, terms[0], TEXT)
    if ignores_case:
        source, pattern = FUNCTIONS["lower"].compile(plan, [source]), pattern.lower()
    return plan.step(f"{source.sql} LIKE {text_literal(pattern)} ESCAPE {text_literal(escape)}", BOOLEAN, source)


@function("regexp_like(text, pattern)", "whether some part of it matches a literal regular expression: rlike", "regexp")
def rlike(plan: Plan, terms: Sequence[Term]) -> Term:
    source, pattern = take(plan, terms[0], TEXT), translate(str(constant_of(terms[1], TEXT, "the pattern")))
    return plan.step(f"regexp_matches({source.sql}, {text_literal(pattern.text)})", BOOLEAN, source)


@function(
    "regexp_extract(text, pattern[, group])", "the first match's group, the first one by default; '' without a match"
)
def _regexp_extract(plan: Plan, terms: Sequence[Term]) -> Term:
    source, pattern = take(plan, terms[0], TEXT), translate(str(constant_of(terms[1], TEXT, "the pattern")))
    group = constant_of(terms[2], INT, "the group") if terms[2:] else 1
    if not isinstance(group, int) or not 0 <= group <= min(pattern.groups, 9):
        raise TypeFault(f"the pattern has no group {group}", f"0 to {min(pattern.groups, 9)}: 0 is the whole match")
    if group == 0:
        pattern = translate(str(terms[1].value), has_end=False)
    return plan.step(f"regexp_extract({source.sql}, {text_literal(pattern.text)}, {group})", TEXT, source)


@function("regexp_replace(text, pattern, replacement)", "each match replaced by a literal text, in which $1 is a group")
def _regexp_replace(plan: Plan, terms: Sequence[Term]) -> Term:
    source = take(plan, terms[0], TEXT)
    pattern = translate(str(constant_of(terms[1], TEXT, "the pattern")), has_end=False)
    _require_text(pattern, "+ in place of *")
    replacement = _replacement(str(constant_of(terms[2], TEXT, "the replacement")), pattern.groups)
    return plan.step(
        f"regexp_replace({source.sql}, {text_literal(pattern.text)}, {text_literal(replacement)}, 'g')", TEXT, source
    )


def _require_text(pattern: Pattern, remedy: str) -> None:
    """Refuse a pattern that matches the empty text, as Java and RE2 then continue differently."""
    if pattern.matches_empty:
        raise TypeFault("the pattern matches the empty text, where Java and RE2 go on differently", remedy)


def _replacement(text: str, groups: int) -> str:
    """Translate Java's replacement syntax to RE2's."""
    written, at = "", 0
    while at < len(text):
        char, following = text[at], text[at + 1 : at + 2]
        at += 2 if char in "\\$" else 1
        if char == "$":
            if not following.isdigit() or int(following) > groups or text[at : at + 1].isdigit():
                raise TypeFault(f"the replacement has ${following}", f"$0 to ${groups}, or \\\\$ for the character")
            written += f"\\{following}"
        elif char == "\\":
            if not following:
                raise TypeFault("the replacement ends in \\", "\\\\\\\\ for the character")
            written += "\\\\" if following == "\\" else following
        else:
            written += char
    return written
