"""The page of the HTTP interface: every route of the service, from its declarations."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.serving.routes.base import Endpoint

_START = """# HTTP interface

`rankloop serve` answers these requests. `{loop}` is the name of a loop in the settings. Bodies and
answers are JSON; the routes that say so also take MessagePack. Where tokens are set, a request
needs one with the scope in the table, in the header `Authorization: Bearer TOKEN`. An error is
answered as `application/problem+json`, with what was found and what to do.

[Serve](serve.md) leads through the requests with examples, and
[`rankloop.client`](api/rankloop/client.md) sends them from Python. The service describes itself at
`/openapi.json`, for tools that generate clients.
"""
_ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def http_page() -> str:
    """Return the page: a table of all routes, then what each takes and answers."""
    from rankloop.serving.routes.endpoints import ENDPOINTS

    rows = [
        f"| [`{e.method} {e.path}`](#{_anchor(e)}) | {e.summary} | {e.scope or 'none'} |"
        for e in ENDPOINTS
    ]
    table = ["| request | does | scope |", "|---|---|---|", *rows, ""]
    return "\n".join([_START, *table, *(_describe(e) for e in ENDPOINTS)])


def _anchor(endpoint: Endpoint) -> str:
    words = re.findall(r"[a-z0-9_]+", f"{endpoint.method} {endpoint.path}".lower())
    return "-".join(words)


def _describe(endpoint: Endpoint) -> str:
    lines = [f"## `{endpoint.method} {endpoint.path}` {{#{_anchor(endpoint)}}}", ""]
    lines += [endpoint.summary, ""]
    for heading, struct in (("Body", endpoint.body), ("Answer", endpoint.answer)):
        names = getattr(struct, "__struct_fields__", ())
        if not names:
            continue
        lines += [f"**{heading}**: {', '.join(f'`{name}`' for name in names)}", ""]
        known = _descriptions(inspect.getdoc(struct) or "")
        lines += [f"- {told}" for told in known]
        lines += [""]
    if endpoint.packed is not None:
        lines += ["It also takes MessagePack.", ""]
    return "\n".join(lines)


def _descriptions(text: str) -> list[str]:
    r"""Return what a docstring says of fields, `name : text`, as lines of Markdown.

    >>> _descriptions("What to rank.\n\nitems, id : the candidates,\n    in any order")
    ['`items`, `id`: the candidates, in any order']
    """
    entries: list[str] = []
    is_inside = False
    for line in _ROLE.sub(r"`\1`", text).split("\n"):
        entry = re.match(r"(\w+(?:, \w+)*) : (.+)", line)
        if entry:
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            entries.append(f"{names}: {entry[2]}")
        elif is_inside and line.startswith("    "):
            entries[-1] += f" {line.strip()}"
        is_inside = bool(entry) or (is_inside and line.startswith("    "))
    return entries
