"""An extension of supervisord that removes its web pages, and keeps its XML-RPC interface.

supervisord's pages start and stop programs on a GET, so any web page could misuse a browser that knows the password;
they also show drivers' logs. Without the pages, no browser is asked for the password. Requests from forms of other
pages are not answered, as they can't have XML's content type.

To use it, add a section to supervisord's configuration:

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
    """An RPC interface without methods, as supervisord requires one."""


def make_interface(supervisord: Any, **settings: Any) -> NoMethods:
    """Remove all handlers except XML-RPC from this process; other requests are answered by 404."""
    for page in _PAGES:
        page.match = _is_never_a_request
    supervisor_xmlrpc_handler.match = _is_xml_rpc
    return NoMethods()


def _is_never_a_request(handler: Any, request: Any) -> bool:
    return False


def _is_xml_rpc(handler: Any, request: Any) -> bool:
    is_xml = (request.get_header("content-type") or "").partition(";")[0].strip().lower() == "text/xml"
    return is_xml and request.command == "POST" and request.uri.partition("?")[0] == handler.path
