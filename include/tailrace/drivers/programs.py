"""Renders a program's supervisord configuration so that supervisord's parsers restore the original values.

supervisord cuts a line at a blank before ; or #, expands %, and splits a command as a shell does. Quotes in an
environment have no escape, and are stripped from both ends of a value.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from configparser import Error, RawConfigParser
from itertools import pairwise

from tailrace.ground.errors import refuse

FINAL = (0, 2, 3, 126, 127, 130)  # no restart helps: done, refused, crash loop, can't be run, interrupted
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}(\.[0-9a-f]{12})?")  # a query's name, and the hash from homes.py
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"'": "'\"'\"'", "%": "%%''", ";": "'';", "#": "''#"}  # '' parts %% from (here)s, ; and # from a blank
_UNQUOTABLE = re.compile(r"""['"]|\s[;#]|%\(here\)s""")  # not allowed in a quoted environment value
# stopwaitsecs is long, since SupervisorHost.stop sends the KILL itself. %(here)s: this file's directory on the host.
_DRIVER_TEMPLATE = """\
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
_ONE_SHOT_TEMPLATE = """\
[program:{name}]
command={command}
autostart=false
autorestart=false
startsecs=0
stdout_logfile=NONE
stderr_logfile=NONE
"""


def checked(name: str) -> str:
    """Return the name, or refuse it: it becomes the name of a file and of a program."""
    if not _NAME.fullmatch(name):
        raise refuse(f"driver {name!r}", "it can't be called so", f"a name like {_NAME.pattern}")
    return name


def driver(name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the supervisord configuration of a driver.

    Raises
    ------
    Refused
        When the name, a word of the command or a variable can't be expressed, or there is no command.
    """
    checked(name)
    if not command:
        raise refuse(f"driver {name}", "it has no command", "the command that starts it")
    for number, word in enumerate(command):
        _require_line(f"driver {name}: word {number} of its command", word)
    for variable, value in environment.items():
        if not _VARIABLE.fullmatch(variable):
            raise refuse(f"driver {name}: variable {variable!r}", "a shell can't set it", "letters, digits and _")
        _require_line(f"driver {name}: variable {variable}", value)
    octal_variables = [variable for variable, value in environment.items() if _UNQUOTABLE.search(value)]
    if octal_variables:  # octal escapes, which a shell decodes, so that no secret is seen in a command
        script = "".join(f'{variable}=$(printf %b "${variable}"); ' for variable in octal_variables)
        command = ["/bin/sh", "-c", f'{script}exec "$@"', name, *command]
    pairs = [
        f'{variable}="{_octal_escapes(value) if variable in octal_variables else value.replace("%", "%%")}"'
        for variable, value in environment.items()
    ]
    return _DRIVER_TEMPLATE.format(
        name=name,
        command=" ".join(map(_quote, command)),
        environment=",".join(pairs),
        final=",".join(map(str, FINAL)),
    )


def once(name: str, command: Sequence[str]) -> str:
    """Return the supervisord configuration of a program that runs only when it is started explicitly."""
    for number, word in enumerate(command):
        _require_line(f"program {name}: word {number} of its command", word)
    return _ONE_SHOT_TEMPLATE.format(name=name, command=" ".join(map(_quote, command)))


def home_of(text: str) -> str | None:
    """Return the home in the command of a configuration made by `driver`; None without one."""
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
        words = [word for name in parser.sections() for word in shlex.split(parser[name].get("command", ""))]
    except (Error, ValueError):  # not ours
        return None
    return next((value.replace("%%", "%") for word, value in pairwise(words) if word == "--home"), None)


def _require_line(where: str, text: str) -> None:
    """Refuse a text that is not one line of UTF-8; it may be a secret, so it is not shown."""
    if re.search(r"[\n\r\0]", text) or re.search("[\ud800-\udfff]", text):
        raise refuse(where, "it holds a line's end, a NUL or no UTF-8", "a single line of text")


def _quote(text: str) -> str:
    return f"'{''.join(_ESCAPES.get(character, character) for character in text)}'"


def _octal_escapes(text: str) -> str:
    return "".join(
        chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\0{byte:03o}" for byte in text.encode()
    )
