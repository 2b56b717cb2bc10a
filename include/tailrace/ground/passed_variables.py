"""Environment variables that a driver gets from its host though another machine starts it: one variable for all.

YARN writes variables into a shell script between double quotes, which connections in JSON do not survive. The name
makes Spark redact the value wherever it shows settings.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping

VARIABLE = "TAILRACE_PASSED_SECRETS"


def encoded(variables: Mapping[str, str]) -> str:
    """The variables as one value, of letters, digits and +/= alone."""
    return base64.b64encode(json.dumps(dict(variables)).encode()).decode()


def restore() -> None:
    """Set the variables that were passed to this process, if any were."""
    value = os.environ.pop(VARIABLE, None)
    if value is not None:
        os.environ.update(json.loads(base64.b64decode(value)))
