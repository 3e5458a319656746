"""Docstrings for the site: references become links, formulas are typeset, text stays text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from griffe import Extension, Kind
from mkdocs.plugins import get_plugin_logger

from website.formulas import is_formula, typeset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from griffe import Alias, Module, Object

ROLE = re.compile(r":(?:func|class|meth|mod|data|attr|exc|obj):`~?([\w.]+)(?:\(\))?`")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ENTRY = re.compile(r"^(\w+(?:, \w+)*|the others) : (.+)$")
HEADING = re.compile(r"[A-Z]\w*(?: [A-Z]\w*)*")
LISTS = ("Parameters", "Attributes")
INDENT = "    "
log = get_plugin_logger("docstrings")


class Docstrings(Extension):
    """Rewrites every docstring of a package once it is loaded."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Rewrite all docstrings."""
        for one in objects(pkg):
            if one.docstring is not None:
                unnamed = "Parameters" if one.kind is Kind.FUNCTION else "Attributes"
                text = with_formulas(with_descriptions(one.docstring.value, unnamed))
                one.docstring.value = with_links(text, one)


def objects(of: Object | Alias) -> Iterator[Object]:
    """Yield what a module holds, and what that holds."""
    yield of
    for member in of.members.values():
        if not member.is_alias:
            yield from objects(member)


def with_descriptions(text: str, unnamed: str = "Attributes") -> str:
    r"""Return a docstring whose `name : text` is a name and its description.

    Our parameters have their types in the signature, so what follows the colon describes. Lists,
    examples and remarks without a heading get one, a list the one of `unnamed`.

    >>> lines = "Attributes", "----------", "rate, clip : above 0,", "    not large"
    >>> with_descriptions("\n".join(lines)).split("\n")[2:]
    ['rate', '    above 0,', '    not large', 'clip', '    above 0,', '    not large']
    """
    lines: list[str] = []
    entries: list[str] = []  # names that share the description which follows
    section, before, start = "", "", 0
    for line in [*text.split("\n"), ""]:
        if entries and not line.startswith(INDENT):
            body = lines[start:]
            lines += [one for name in entries[1:] for one in (name, *body)]
            entries = []
        if not section and not before and lines and ENTRY.match(line):
            section, before = unnamed, "-" * len(unnamed)
            lines += [section, before]
        if re.fullmatch(r"-{3,}", line):
            section = before
        elif line.startswith(">>>") and not before and section != "Examples":
            section = "Examples"
            lines += [section, "-" * len(section)]
        elif section in LISTS and line[:1].strip() and before != section:
            found = ENTRY.match(line)
            if found and found[1] != "the others":
                entries = found[1].split(", ")
                lines.append(entries[0])
                start = len(lines)
                line = INDENT + found[2]
            elif found or (not before and not HEADING.fullmatch(line)):
                section = "Notes"
                lines += ["", section, "-" * len(section)]
        lines.append(line)
        before = line
    return "\n".join(lines[:-1])


def with_formulas(text: str) -> str:
    """Return a docstring whose indented formulas are MathML; other indented blocks stay."""
    heads = SECTION.search(text)
    end = heads.start() if heads else len(text)

    def shown(block: re.Match[str]) -> str:
        lines = [line.strip() for line in block[0].strip("\n").split("\n")]
        return f"\n{typeset(lines)}\n" if is_formula(lines) else block[0]

    blocks = re.compile(r"(?<=\n\n)(?: {4}.*\n?)+")
    return blocks.sub(shown, text[:end]) + text[end:]


def with_links(text: str, one: Object) -> str:
    """Return a docstring whose roles, as in ``:class:`Slam```, are links."""

    def linked(role: re.Match[str]) -> str:
        found = target(role[1], one)
        if found is None:
            log.warning("%s: the docstring refers to %s, which is not there", one.path, role[1])
            return f"`{role[1]}`"
        return f'<autoref optional identifier="{found}"><code>{role[1]}</code></autoref>'

    return ROLE.sub(linked, text)


def target(name: str, one: Object) -> str | None:
    """Return the full name of what a docstring means.

    It is sought in the classes and modules around the docstring, from the top, and last by its
    name alone, if only one thing has it.
    """
    scope: Object | None = one
    while scope is not None:
        found = member(scope, name)
        if found is not None:
            return found
        scope = scope.parent
    return member(one.package, name.removeprefix(f"{one.package.name}.")) or only(name, one.package)


@cache
def paths(package: Object) -> tuple[str, ...]:
    """Return the full names of everything."""
    return tuple(one.path for one in objects(package))


def only(name: str, package: Object) -> str | None:
    """Return the full name of the one thing that is called so."""
    found = [path for path in paths(package) if path.endswith(f".{name}")]
    return found[0] if len(found) == 1 else None


def member(scope: Object, name: str) -> str | None:
    """Return the full name of a member, of its own or inherited."""
    here: Any = scope
    for part in name.split("."):
        if here.is_alias:
            here = here.final_target
        if part in here.members:
            here = here.members[part]
        elif here.kind is Kind.CLASS and part in here.inherited_members:
            here = here.inherited_members[part]
        else:
            return None
    return str(here.canonical_path)
