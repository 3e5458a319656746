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
WRAPPED = re.compile(r"^\w+(?:, \w+)*(?:,\n +\w+(?:, \w+)*)+ : ", re.MULTILINE)
"""A list of names that is longer than a line."""
HEADING = re.compile(r"[A-Z]\w*(?: [A-Z]\w*)*")
LISTS = ("Parameters", "Attributes")
INDENT = "    "
log = get_plugin_logger("docstrings")


class Docstrings(Extension):
    """Rewrites every docstring of a package once it is loaded."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Rewrite all docstrings."""
        for documented in objects(pkg):
            if documented.docstring is not None:
                unnamed = "Parameters" if documented.kind is Kind.FUNCTION else "Attributes"
                text = with_formulas(with_descriptions(documented.docstring.value, unnamed))
                documented.docstring.value = with_links(text, documented)


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
    >>> with_descriptions("Parameters\n----------\nrate,\n    clip : small").split("\n")[2:]
    ['rate', '    small', 'clip', '    small']
    """
    text = WRAPPED.sub(lambda names: re.sub(r",\n +", ", ", names[0]), text)
    lines: list[str] = []
    entries: list[str] = []  # names that share the description which follows
    section, before, start = "", "", 0
    for line in [*text.split("\n"), ""]:
        if entries and not line.startswith(INDENT):
            body = lines[start:]
            lines += [entry for name in entries[1:] for entry in (name, *body)]
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
            match = ENTRY.match(line)
            if match and match[1] != "the others":
                entries = match[1].split(", ")
                lines.append(entries[0])
                start = len(lines)
                line = INDENT + match[2]
            elif match or (not before and not HEADING.fullmatch(line)):
                section = "Notes"
                lines += ["", section, "-" * len(section)]
        lines.append(line)
        before = line
    return "\n".join(lines[:-1])


def with_formulas(text: str) -> str:
    """Return a docstring whose indented formulas are MathML; other indented blocks stay."""
    heads = SECTION.search(text)
    end = heads.start() if heads else len(text)

    def show(block: re.Match[str]) -> str:
        lines = [line.strip() for line in block[0].strip("\n").split("\n")]
        return f"\n{typeset(lines)}\n" if is_formula(lines) else block[0]

    blocks = re.compile(r"(?<=\n\n)(?: {4}.*\n?)+")
    return blocks.sub(show, text[:end]) + text[end:]


def with_links(text: str, owner: Object) -> str:
    """Return a docstring whose roles, as in ``:class:`Slam```, are links."""

    def link(role: re.Match[str]) -> str:
        identifier = target(role[1], owner)
        if identifier is None:
            log.warning("%s: the docstring refers to %s, which is not there", owner.path, role[1])
            return f"`{role[1]}`"
        return f'<autoref optional identifier="{identifier}"><code>{role[1]}</code></autoref>'

    return ROLE.sub(link, text)


def target(name: str, owner: Object) -> str | None:
    """Return the full name of what a docstring means.

    It is sought in the classes and modules around the docstring, from the top, and last by its
    name alone, if only one thing has it.
    """
    scope: Object | None = owner
    while scope is not None:
        path = member(scope, name)
        if path is not None:
            return path
        scope = scope.parent
    return member(owner.package, name.removeprefix(f"{owner.package.name}.")) or only(
        name, owner.package
    )


@cache
def paths(package: Object) -> tuple[str, ...]:
    """Return the full names of everything."""
    return tuple(documented.path for documented in objects(package))


def only(name: str, package: Object) -> str | None:
    """Return the full name of the one thing that is called so."""
    matches = [path for path in paths(package) if path.endswith(f".{name}")]
    return matches[0] if len(matches) == 1 else None


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
