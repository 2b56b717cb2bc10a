"""The program of a driver host that runs the driver of a home, the directory WAREHOUSE/QUERY: its name, its owner.

A host may serve several warehouses that have queries of one name, and a copy of a warehouse is another one. So a
program is known by the home in its command. Its name holds the query and a hash of the home's path.
"""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import count

from tailrace.drivers.driver_host import DriverHost
from tailrace.ground.files import is_url
from tailrace.ground.object_path import Location

_HASH_DIGITS = 12


def resolved(home: Location | str) -> str:
    """Return the path of a home without symbolic links; a URL as it is."""
    text = str(home)
    return text if is_url(text) else os.path.realpath(text)


def deployed_program(host: DriverHost, home: Location) -> str | None:
    """Return the name of the program whose command has this home, however it is spelled; None where there is none.

    Versions that named programs by the query alone have left some: they are found by their home, too.
    """
    wanted = resolved(home)
    return next((name for name, text in host.homes(home.name).items() if resolved(text) == wanted), None)


def program_of(host: DriverHost, home: Location) -> str:
    """Return the name of a home's program: of the one that is deployed, else of the next one to be deployed."""
    deployed = deployed_program(host, home)
    if deployed is not None:
        return deployed
    taken = host.homes(home.name)  # by a warehouse that was at this path before, through a link
    return next(name for number in count() if (name := _name(home, number)) not in taken)


def _name(home: Location, number: int) -> str:
    place = resolved(home) + (f"#{number}" if number else "")
    return f"{home.name}.{sha256(place.encode(errors='surrogateescape')).hexdigest()[:_HASH_DIGITS]}"
