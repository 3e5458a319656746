"""`/openapi.json`: the interface of the service, for machines; generated from the routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from rankloop.serving.routes.base import JSON, MSGPACK, Endpoint, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from rankloop.serving.routes.base import Call

    Schemas = dict[int, dict[str, Any]]  # by the id of the type


async def openapi(call: Call) -> Response:
    """Return the document."""
    return answer(document_of(call))


def document_of(call: Call) -> dict[str, Any]:
    """Return the document of the service that answers."""
    service = call.service
    return document(service.endpoints, list(service.loops), bool(service.settings.tokens))


def document(endpoints: Sequence[Endpoint], loops: list[str], tokens: bool) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of these routes, for these loops.

    tokens : whether the service has tokens; otherwise everybody on its machine has all scopes
    """
    from rankloop import __version__

    kinds = [
        kind
        for endpoint in endpoints
        for kind in (endpoint.body, endpoint.packed, endpoint.answer)
        if kind is not None
    ]
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    known = dict(zip(map(id, kinds), schemas, strict=True))
    paths: dict[str, dict[str, object]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(
            endpoint, known, loops, tokens
        )
    parts: dict[str, object] = {"schemas": {**components, "Problem": _PROBLEM}}
    if tokens:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rankloop", "version": __version__},
        "paths": paths,
        "components": parts,
    }


def _operation(
    endpoint: Endpoint, known: Schemas, loops: list[str], tokens: bool
) -> dict[str, object]:
    text = {"type": "string", "minLength": 1}
    path_words = re.sub("[^a-z0-9]+", "_", endpoint.path.lower())
    operation: dict[str, object] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()}_{path_words}",
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {**text, "enum": loops} if name == "loop" else text,
            }
            for name in re.findall(r"{(\w+)}", endpoint.path)
        ],
        "responses": {
            "200": {"description": "As asked.", "content": _content(endpoint.answer, known)},
            "default": {
                "description": "What was found, what was expected, what to do.",
                "content": {
                    "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                },
            },
        },
    }
    if tokens and endpoint.scope is not None:
        operation["security"] = [{"token": []}]
        operation["description"] = f"A token needs the scope `{endpoint.scope}`."
    if endpoint.raw and endpoint.body is None:
        operation["requestBody"] = {"content": {"application/octet-stream": {}}, "required": True}
    elif endpoint.body is not None:
        content = {JSON: {"schema": known[id(endpoint.body)]}}
        if endpoint.packed is not None:
            content[MSGPACK] = {"schema": known[id(endpoint.packed)]}
        operation["requestBody"] = {"content": content, "required": True}
    return operation


def _content(kind: object, known: Schemas) -> dict[str, object]:
    return {} if kind is None else {JSON: {"schema": known[id(kind)]}}


_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}

OPENAPI = Endpoint("GET", "/openapi.json", openapi, "This document.", None)
