"""Helpers of tests that start processes: liveness, command lines, listening sockets."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

import psutil

from tailrace.drivers.fence import dead


def is_dead(pid: int) -> bool:
    try:
        return dead(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def command(process: psutil.Process) -> list[str]:
    """A process's command line; empty once it has ended, as for a zombie."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # psutil raises this for a zombie too
        return []


def listening(processes: Iterable[psutil.Process]) -> list[str]:
    """The addresses, with ports, on which processes listen; a JVM's IPv4 addresses appear as mapped IPv6 ones."""
    addresses = []
    for process in processes:
        try:
            sockets = process.net_connections("tcp")
        except psutil.NoSuchProcess:
            continue
        addresses += [
            f"{connection.laddr.ip}:{connection.laddr.port}"
            for connection in sockets
            if connection.status == psutil.CONN_LISTEN
        ]
    return addresses


def beyond_loopback(addresses: Iterable[str]) -> list[str]:
    """The addresses that another machine can reach."""
    hosts = {address: ipaddress.ip_address(address.rpartition(":")[0]) for address in addresses}
    return [address for address, host in hosts.items() if not (getattr(host, "ipv4_mapped", None) or host).is_loopback]
