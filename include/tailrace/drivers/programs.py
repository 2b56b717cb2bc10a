"""What stands in supervisord's configuration for a driver, so that it comes out of its parsers as it went in.

supervisord cuts a line at a blank before ; or #, expands %, and splits a command as a shell does; the quotes of
an environment know no escape, and are stripped from both ends of a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tailrace.ground.errors import refuse

FINAL = (0, 2, 3, 126, 127, 130)  # no restart would help: done, refused, crash loop, not to be run, interrupted
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IN_QUOTES = {"'": "'\"'\"'", "%": "%%''", ";": "'';", "#": "''#"}  # %% apart from (here)s; ; and # apart from a blank
_DIFFICULT = re.compile(r"""['"]|\s[;#]|%\(here\)s""")  # what a value of an environment can't hold
# The host itself ends a stop by KILL, so supervisord's own wait is long. %(here)s: this file's directory over there.
_DRIVER = """\
[program:{name}]
command={command}
environment={environment}
autorestart=unexpected
exitcodes={final}
startsecs=0
stopsignal=TERM
stopasgroup=true
killasgroup=true
stopwaitsecs=3600
redirect_stderr=true
stdout_logfile=%(here)s/{name}.log
stdout_logfile_maxbytes=20MB
stdout_logfile_backups=3
"""
_ONCE = """\
[program:{name}]
command={command}
autostart=false
autorestart=false
startsecs=0
stdout_logfile=NONE
stderr_logfile=NONE
"""


def checked(name: str) -> str:
    """The name, when it can be one of a driver: it becomes a file's and a program's name."""
    if not _NAME.fullmatch(name):
        raise refuse(f"driver {name!r}", "it can't be called so", f"a name like {_NAME.pattern}")
    return name


def driver(name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The configuration of a driver.

    Raises
    ------
    Refused
        When the name, a word of the command or a variable can't be written there.
    """
    checked(name)
    if not command:
        raise refuse(f"driver {name}", "it has no command", "the command that starts it")
    for number, word in enumerate(command):
        _line(f"driver {name}: word {number} of its command", word)
    for variable, value in environment.items():
        if not _VARIABLE.fullmatch(variable):
            raise refuse(f"driver {name}: variable {variable!r}", "a shell can't set it", "letters, digits and _")
        _line(f"driver {name}: variable {variable}", value)
    difficult = [variable for variable, value in environment.items() if _DIFFICULT.search(value)]
    if difficult:  # they go as octal numbers, and a shell makes them out again; no secret is seen in a command
        script = "".join(f'{variable}=$(printf %b "${variable}"); ' for variable in difficult)
        command = ["/bin/sh", "-c", f'{script}exec "$@"', name, *command]
    pairs = [
        f'{variable}="{_octal(value) if variable in difficult else value.replace("%", "%%")}"'
        for variable, value in environment.items()
    ]
    return _DRIVER.format(
        name=name,
        command=" ".join(map(_word, command)),
        environment=",".join(pairs),
        final=",".join(map(str, FINAL)),
    )


def once(name: str, command: Sequence[str]) -> str:
    """The configuration of a program that runs when it is started, and only then."""
    for number, word in enumerate(command):
        _line(f"program {name}: word {number} of its command", word)
    return _ONCE.format(name=name, command=" ".join(map(_word, command)))


def _line(where: str, text: str) -> None:
    """Refuse what no line of UTF-8 can hold; the text may be a secret, so it is not shown."""
    if re.search(r"[\n\r\0]", text) or re.search("[\ud800-\udfff]", text):
        raise refuse(where, "it holds a line's end, a NUL or no UTF-8", "a single line of text")


def _word(text: str) -> str:
    return f"'{''.join(_IN_QUOTES.get(character, character) for character in text)}'"


def _octal(text: str) -> str:
    return "".join(
        chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\0{byte:03o}" for byte in text.encode()
    )
