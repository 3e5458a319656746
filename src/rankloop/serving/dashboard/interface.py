"""`/docs`: the interface of the service as a page, made from its OpenAPI document.

It needs no script and no network: whoever may open it sees what the service takes and answers.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Rankloop: the interface</title>
<link rel="icon" href="{static}/icon.svg">
<link rel="stylesheet" href="{static}/look.css">
<link rel="stylesheet" href="{static}/style.css">
</head>
<body>
<header class="top"><h1>Rankloop {version}: the interface</h1></header>
<main>
<p>For machines: <a href="/openapi.json">/openapi.json</a>. <a href="/">The dashboard</a>.</p>
{body}
</main>
</body>
</html>
"""


def render_interface(document: Mapping[str, Any], static: str) -> str:
    """Return the page of an OpenAPI document.

    static : where the style sheets are
    """
    body = "\n".join(_operations(document))
    return _PAGE.format(static=static, version=escape(document["info"]["version"]), body=body)


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield '<section class="panel wide">'
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{_text(operation['summary'])} {_text(operation.get('description', ''))}</p>"
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                yield from _schema(f"Send {kind}", content.get("schema"))
            for kind, content in operation["responses"]["200"]["content"].items():
                yield from _schema(f"Answer {kind}", content.get("schema"))
            yield "</section>"
    yield "<h2>Values</h2>"
    for name, schema in document["components"]["schemas"].items():
        yield f'<section class="panel wide" id="{escape(name)}"><h2>{escape(name)}</h2>'
        yield f"<p>{_text(schema.get('description', ''))}</p>"
        if "properties" in schema:
            yield from _fields(schema)
        else:
            yield f"<pre>{escape(json.dumps(schema, indent=1))}</pre>"
        yield "</section>"


def _schema(title: str, schema: Mapping[str, Any] | None) -> Iterator[str]:
    if schema is not None:
        yield f"<p>{escape(title)}: {_type(schema)}</p>"


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", [])
    yield "<table><tr><th>field</th><th>type</th><th></th></tr>"
    for name, field in schema["properties"].items():
        default = f"default {json.dumps(field['default'])}" if "default" in field else ""
        words = "required" if name in required else default
        yield f"<tr><td><code>{escape(name)}</code></td><td>{_type(field)}</td>"
        yield f"<td>{escape(words)}</td></tr>"
    yield "</table>"


def _type(schema: Mapping[str, Any]) -> str:
    """Return a type in a few words, with links to types that have a name."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return escape(", ".join(json.dumps(value) for value in schema["enum"]))
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"table of {_type(schema['additionalProperties'])}"
    kind = str(schema.get("type", "anything"))
    bounds = [
        f"{word} {schema[key]:,}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("maxItems", "at most"),
            ("maxLength", "length at most"),
        )
        if key in schema
    ]
    return escape(", ".join([kind, *bounds]))


def _text(text: str) -> str:
    """Return text with its `code` as such."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))
