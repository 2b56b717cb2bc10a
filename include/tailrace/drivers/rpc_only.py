"""Leaves a supervisord its XML-RPC interface, and takes its pages away: a part of supervisord's configuration.

supervisord's pages stop and start programs on a GET, so any page on the web could have a browser do that which has once
been given the password; and they show what drivers log. Without them nothing asks a browser for the password, and a
request that a form of another page can send is not answered: it can't have the content type of XML.

A supervisord has this part by a section of its configuration:

    [rpcinterface:tailrace]
    supervisor.rpcinterface_factory=tailrace.drivers.rpc_only:make_interface
"""

from __future__ import annotations

from typing import Any

from supervisor.http import logtail_handler, mainlogtail_handler
from supervisor.medusa.default_handler import default_handler
from supervisor.web import supervisor_ui_handler
from supervisor.xmlrpc import supervisor_xmlrpc_handler

_PAGES = (supervisor_ui_handler, logtail_handler, mainlogtail_handler, default_handler)


class NoMethods:
    """An RPC interface without methods, which supervisord asks for."""


def make_interface(supervisord: Any, **settings: Any) -> NoMethods:
    """Let no handler of this process but XML-RPC's match a request; every other one is answered by 404."""
    for page in _PAGES:
        page.match = _is_never_a_request
    supervisor_xmlrpc_handler.match = _is_xml_rpc
    return NoMethods()


def _is_never_a_request(handler: Any, request: Any) -> bool:
    return False


def _is_xml_rpc(handler: Any, request: Any) -> bool:
    is_xml = (request.get_header("content-type") or "").partition(";")[0].strip().lower() == "text/xml"
    return is_xml and request.command == "POST" and request.uri.partition("?")[0] == handler.path
