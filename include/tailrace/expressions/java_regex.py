"""Translates regular expressions from Java's syntax (Spark) to RE2's (DuckDB).

Where the two differ, a pattern is rewritten, such as the end of a line before `$`, or refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailrace.expressions.literals import TypeFault

_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_CLASSES = {"d": "0-9", "w": "a-zA-Z_0-9", "s": r"\t\n\x0B\f\r "}
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f"}
_END = r"(?:\r\n|[" + _LINE_ENDS + r"])?\z"
_COUNT = re.compile(r"\{(\d+)(,(\d*))?\}")
_MOST_REPEATS = 1000


@dataclass(frozen=True)
class Pattern:
    """A translated pattern: RE2's text, the number of groups, and whether it can match the empty text."""

    text: str
    groups: int
    matches_empty: bool


def translate(pattern: str, has_end: bool = True) -> Pattern:
    """Translate a pattern in Java's syntax.

    `has_end` allows `$`, which can also match a line's end.

    Raises
    ------
    TypeFault
        At a construct that RE2 lacks or interprets differently.
    """
    reader = _Reader(pattern, has_end)
    text, is_empty = reader.alternatives()
    if reader.at < len(pattern):
        raise reader.fault("a ) that nothing opens")
    return Pattern(text, reader.groups, is_empty)


class _Reader:
    def __init__(self, pattern: str, has_end: bool) -> None:
        self.pattern, self.at, self.groups, self.has_end = pattern, 0, 0, has_end

    def fault(self, what: str) -> TypeFault:
        remedy = "characters, . [ ] ( ) | * + ? { } ^ $ and \\\\d \\\\w \\\\s, as Java and RE2 take them alike"
        return TypeFault(f"the pattern {self.pattern!r} has {what}", remedy)

    def peek(self, length: int = 1) -> str:
        return self.pattern[self.at : self.at + length]

    def alternatives(self) -> tuple[str, bool]:
        texts, empties = [], []
        while True:
            text, is_empty = self.sequence()
            texts.append(text)
            empties.append(is_empty)
            if self.peek() != "|":
                return "|".join(texts), any(empties)
            self.at += 1

    def sequence(self) -> tuple[str, bool]:
        text, is_empty = "", True
        while self.peek() not in ("", "|", ")"):
            piece, can_be_empty, can_repeat = self.piece()
            suffix, is_optional = self.quantifier()
            if suffix and (not can_repeat or can_be_empty):
                raise self.fault("a repetition of what can be empty")
            text += piece + suffix
            is_empty = is_empty and (can_be_empty or is_optional)
        return text, is_empty

    def piece(self) -> tuple[str, bool, bool]:  # noqa: PLR0911  a character, a return
        """Read one element; return its text, whether it can match the empty text, and whether it can be repeated."""
        char = self.peek()
        self.at += 1
        if char == "(":
            return self.group()
        if char == "[":
            return self.char_class(), False, True
        if char == ".":
            return f"[^{_LINE_ENDS}]", False, True
        if char == "^":
            return r"\A", True, False
        if char == "$":
            if not self.has_end or self.at < len(self.pattern):
                raise self.fault(
                    "a $ that is not at its end" if self.has_end else "a $, which takes a line's end along"
                )
            return _END, True, False
        if char == "\\":
            return self.escape(), False, True
        if char in "*+?{}":
            raise self.fault(f"a {char} with nothing before it")
        return re.escape(char) if char != "\0" else r"\x00", False, True

    def group(self) -> tuple[str, bool, bool]:
        opening = "("
        if self.peek() == "?":
            if self.peek(2) != "?:":
                raise self.fault(f"({self.peek(3)}…: a flag, a name or a look around")
            self.at += 2
            opening = "(?:"
        else:
            self.groups += 1
        text, is_empty = self.alternatives()
        if self.peek() != ")":
            raise self.fault("a ( that nothing closes")
        self.at += 1
        return f"{opening}{text})", is_empty, True

    def quantifier(self) -> tuple[str, bool]:
        """Read a quantifier: its text, and whether it allows zero repetitions."""
        char = self.peek()
        if char and char in "*+?":
            self.at += 1
            suffix, is_optional = char, char != "+"
        elif char == "{":
            match = _COUNT.match(self.pattern, self.at)
            if match is None or max(int(each) for each in (match[1], match[3] or 0)) > _MOST_REPEATS:
                raise self.fault(f"a {{ that is no repetition up to {_MOST_REPEATS}")
            if match[3] and int(match[3]) < int(match[1]):
                raise self.fault("a repetition that ends before it begins")
            self.at = match.end()
            suffix, is_optional = match[0], int(match[1]) == 0
        else:
            return "", False
        if self.peek() == "?":
            self.at += 1
            suffix += "?"
        if self.peek() and self.peek() in "*+?{":
            raise self.fault("a quantifier behind a quantifier")
        return suffix, is_optional

    def escape(self, in_class: bool = False) -> str:
        char = self.peek()
        self.at += 1
        if char.lower() in _CLASSES and (char.islower() or not in_class):
            inside = _CLASSES[char.lower()]
            return inside if in_class else f"[{'^' if char.isupper() else ''}{inside}]"
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char and not char.isalnum() and char.isascii() and char > " ":
            return "\\" + char
        raise self.fault(f"\\{char}")

    def char_class(self) -> str:
        text = "["
        if self.peek() == "^":
            self.at += 1
            text += "^"
        start = self.at
        while self.peek() != "]" or self.at == start:
            char = self.peek()
            if char in ("", "[") or self.peek(2) == "&&" or (char == "]" and self.at == start):
                raise self.fault("a [ that nothing closes, or one inside another, or &&, or []")
            self.at += 1
            if char == "\\":
                text += self.escape(in_class=True)
            elif char == "-":
                is_edge = self.at - 1 == start or self.peek() == "]"
                text += r"\-" if is_edge else "-"
            else:
                text += re.escape(char) if char.isascii() and char != "\0" else char
        self.at += 1
        return text + "]"
