"""Names the program on a driver host for each home (the directory WAREHOUSE/QUERY), and finds the home of a program.

A host may serve several warehouses with queries of the same name, and a copy of a warehouse is another warehouse. So a
program is identified by the home in its command. Its name consists of the query and a hash of the home's path.
"""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import count

from tailrace.drivers.driver_host import DriverHost
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.object_path import Location

_HASH_DIGITS = 12


def resolved(home: Location | str) -> str:
    """Return the path of a home without symbolic links; a URL unchanged."""
    text = str(home)
    return text if is_url(text) else os.path.realpath(text)


def deployed_program(host: DriverHost, home: Location) -> str | None:
    """Return the name of the program with this home in its command, however written; None without one."""
    wanted = resolved(home)
    return next((name for name, text in host.homes(home.name).items() if resolved(text) == wanted), None)


def program_of(host: DriverHost, home: Location) -> str:
    """Return the name of a home's program: the deployed one, else the next one to be deployed."""
    deployed = deployed_program(host, home)
    if deployed is not None:
        return deployed
    taken = host.homes(home.name)  # deployed by another warehouse, which was at this path before, through a link
    return next(name for number in count() if (name := _name(home, number)) not in taken)


def _name(home: Location, number: int) -> str:
    location = resolved(home) + (f"#{number}" if number else "")
    return f"{home.name}.{sha256(location.encode(errors='surrogateescape')).hexdigest()[:_HASH_DIGITS]}"
