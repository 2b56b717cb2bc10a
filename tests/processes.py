"""Watching processes from a test."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterable

import psutil

from tailrace.drivers.fence import dead


def until(condition, seconds=20.0):
    """Wait for something to be true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)
    return value


def is_dead(pid: int) -> bool:
    try:
        return dead(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def command(process: psutil.Process) -> list[str]:
    """A process's command line; empty once it has ended, whether or not anyone has waited for it."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie is one, to psutil
        return []


def listening(processes: Iterable[psutil.Process]) -> list[str]:
    """The addresses, with ports, on which processes listen; a JVM's IPv4 address comes as an IPv6 one."""
    found = []
    for process in processes:
        try:
            sockets = process.net_connections("tcp")
        except psutil.NoSuchProcess:
            continue
        found += [f"{one.laddr.ip}:{one.laddr.port}" for one in sockets if one.status == psutil.CONN_LISTEN]
    return found


def beyond_loopback(addresses: Iterable[str]) -> list[str]:
    """Those that another machine reaches."""
    hosts = {address: ipaddress.ip_address(address.rpartition(":")[0]) for address in addresses}
    return [address for address, host in hosts.items() if not (getattr(host, "ipv4_mapped", None) or host).is_loopback]
