"""The page of settings has every key, with its default and its choices."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from rankloop.serving.settings.loop import LoopSettings, RuleSettings
from rankloop.serving.settings.sections import (
    BrowserSettings,
    LimitSettings,
    PrivacySettings,
    TokenSettings,
)
from rankloop.serving.settings.service import ServerSettings, Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
FREE = {"[loops.NAME.fields]", "[loops.NAME.features]"}
"""Tables whose keys people choose."""
SECTIONS = {
    "[server]": ServerSettings,
    "[[tokens]]": TokenSettings,
    "[limits]": LimitSettings,
    "[browsers]": BrowserSettings,
    "[privacy]": PrivacySettings,
    "[loops.NAME]": LoopSettings,
    "[loops.NAME.feedback]": RuleSettings,
}


def sections() -> dict[str, str]:
    _, *found = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {text.partition("\n")[0]: text for text in found}


def rows(heading: str) -> dict[str, list[str]]:
    """The other cells of each key's row."""
    found = re.findall(r"^\| `(\w+)` \| (.*) \|$", sections()[heading], re.MULTILINE)
    assert len(dict(found)) == len(found)
    return {key: cells.split(" | ") for key, cells in found}


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def test_every_table_has_its_section():
    assert {heading.strip("[]").partition(".")[0] for heading in SECTIONS} == {
        field.name for field in msgspec.structs.fields(Settings)
    }
    assert {heading for heading in sections() if heading.startswith("[")} == SECTIONS.keys() | FREE


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_has_its_default(heading):
    shown = rows(heading)
    fields = {field.name: field for field in msgspec.structs.fields(SECTIONS[heading])}
    assert shown.keys() == fields.keys()
    for name, (_, default, meaning) in shown.items():
        known = default_of(fields[name])
        if known is msgspec.NODEFAULT:
            assert default == "required", name
        elif known is None:
            assert default == "none", name
        else:
            value = tomllib.loads(f"value = {default.strip('`')}")["value"]
            assert value == msgspec.json.decode(msgspec.json.encode(known)), name
        assert meaning.strip(), name


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_choice_is_named(heading):
    for name, hint in get_type_hints(SECTIONS[heading]).items():
        inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
        for choice in get_args(inner) if get_origin(inner) is Literal else ():
            assert f"`{choice}`" in rows(heading)[name][0], f"{name}: {choice}"
