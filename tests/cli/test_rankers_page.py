"""The table of all rankers on a page is what the rankers say of themselves.

RANKLOOP_UPDATE_DOCS=1 pytest tests/cli/test_rankers_page.py brings the page up to date instead.
"""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import rankloop as rl
from rankloop.experiments.peers import PEERS
from rankloop.rankers.registry import online_names, ranker_class, ranker_groups, ranker_names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "which-ranker.md"
TABLE = re.compile(r"(?<=^\| name \| class \| learns \| what it is \|\n)(?:\|.*\n)+", re.MULTILINE)


def shortest(cls):
    """How code that begins with `import rankloop as rl` names a class."""
    for module, place in ((rl, "rl"), (rl.rankers, "rl.rankers"), (rl.clicks, "rl.clicks")):
        if getattr(module, cls.__name__, None) is cls:
            return f"`{place}.{cls.__name__}`"
    raise AssertionError(f"{cls} has no public name")


def rows():
    yield "|---|---|---|---|"
    for group, names in ranker_groups().items():
        yield f"| **{group}** | | | |"
        for name in names:
            cls = ranker_class(name)
            learns = "online" if name in online_names() else "in batch"
            yield f"| `{name}` | {shortest(cls)} | {learns} | {summary(cls)} |"
    yield "| **Other libraries** | | | |"
    for name, cls in PEERS.items():
        yield f"| `{name}` | | in `compare` | {summary(cls)} |"


def summary(cls):
    first, *rest = inspect.getdoc(cls).splitlines()
    assert not rest or not rest[0], f"the docstring of {cls} begins with more than one line"
    assert first.endswith(".")
    return first


def test_every_ranker_is_in_the_table():
    text = PAGE.read_text(encoding="utf-8")
    assert len(TABLE.findall(text)) == 1
    now = TABLE.sub(lambda _: "\n".join(rows()) + "\n", text)
    if os.environ.get("RANKLOOP_UPDATE_DOCS"):
        PAGE.write_text(now, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == now


def test_every_ranker_is_in_one_group():
    names = [name for group in ranker_groups().values() for name in group]
    assert sorted(names) == sorted(ranker_names())
