"""Write values as TOML, which Python only reads."""

from __future__ import annotations

import json
import re

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """Return a name as a key, in quotes if it needs them.

    >>> toml_key("price"), toml_key("the price")
    ('price', '"the price"')
    """
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def toml_value(value: object) -> str:
    """Return a value in one line: a text, a number, a boolean, a list or a table of these.

    >>> print(toml_value({"given": "category", "categories": ["a", "b"]}))
    { given = "category", categories = ["a", "b"] }
    """
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
