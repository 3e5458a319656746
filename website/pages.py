"""What MkDocs is told besides docs/: a page for each module, and pages that lie elsewhere.

MkDocs calls the functions named `on_`; see `hooks` in mkdocs.yml.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from website.http_page import http_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"

# Pages of the repository that readers of the site want too, and where they lie there.
BROUGHT = {
    "benchmarks.md": "benchmarks/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
# The command line has a page of its own, and the service's parts are no library.
NOT_PUBLIC = ("rankloop/cli/", "rankloop/serving/", "rankloop/experiments/papers/")
START = "api/start.md"
STEPS = {
    "Read and write": "read write QueryDataset from_table read_table read_letor write_letor "
    "summarise compute_features",
    "Split": "random_split k_folds",
    "Learn": "Auto Blend make_ranker register_ranker Slam SolarI SolarII NewtonXENDCG RankSVM "
    "ListNet XENDCG LambdaMART XENDCGBoost KeepRank KernelSlam Predtron PDGD Mix Prepared "
    "Described",
    "Keep": "save load loads",
    "Measure": "evaluate nDCG AP P RR ERR CONVENTIONS explain_measure compare_runs scorer",
    "Compare": "compare stream tune explain write_report",
    "Rank live": "Ranking Feedback Judgement",
    "Errors": "RankloopError DataError ModelError",
}
"""What `import rankloop` offers, by what it is for."""
ROOMS = (
    *("checks", "clicks", "client", "data", "distributed", "exceptions", "experiments", "export"),
    *("features", "feedback", "losses", "measures", "plotting", "rankers", "theory"),
)
ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")
CODE = re.compile(r'<div (class="(?:doc-signature|language-))')
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


def modules() -> list[str]:
    """Return the names of all public modules, packages before what they hold."""
    names = []
    for path in sorted(SOURCE.glob("rankloop/**/*.py")):
        place = path.relative_to(SOURCE).with_suffix("")
        parts = place.parts[:-1] if place.name == "__init__" else place.parts
        public = not any(part.startswith("_") for part in parts)
        if public and not place.as_posix().startswith(NOT_PUBLIC):
            names.append(".".join(parts))
    return sorted(names)


def page_of(module: str) -> str:
    """Return where the page of a module lies.

    >>> page_of("rankloop.client"), page_of("rankloop.measures")
    ('api/rankloop/client.md', 'api/rankloop/measures/index.md')
    """
    place = module.replace(".", "/")
    return f"api/{place}/index.md" if (SOURCE / place).is_dir() else f"api/{place}.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for module in modules():
        text = f"::: {module}\n"
        files.append(File.generated(config, page_of(module), content=text))
    files.append(File.generated(config, "http.md", content=http_page()))
    files.append(File.generated(config, START, content=start_page()))
    for page, place in BROUGHT.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=led_from(text, place)))
    return files


def start_page() -> str:
    """Return the page that opens the API: what `import rankloop` offers, by what it is for."""
    import rankloop

    lines = ["# import rankloop as rl", "", "What most programs need, in the order of their steps."]
    left = {name for name in rankloop.__all__ if name not in ROOMS}
    for heading, words in STEPS.items():
        lines += ["", f"## {heading}", "", "| name | what it is |", "|---|---|"]
        for name in words.split():
            left.remove(name)
            lines.append(f"| {linked(name)} | {first_line(getattr(rankloop, name))} |")
    if left:
        raise ValueError(f"website/pages.py: STEPS lacks {sorted(left)}")
    rooms = (f"| [`rl.{name}`](rankloop/{room_page(name)}) | {room_line(name)} |" for name in ROOMS)
    lines += ["", "## Rooms", "", "The rest is in packages.", "", "| package | holds |"]
    return "\n".join([*lines, "|---|---|", *rooms, ""])


def linked(name: str) -> str:
    """Return a name of `import rankloop` as a link to its page."""
    stub = (SOURCE / "rankloop" / "__init__.pyi").read_text(encoding="utf-8")
    found = re.search(rf"^from \.([\w.]+) import \w+ as {name}$", stub, re.MULTILINE)
    assert found is not None
    import rankloop

    value = getattr(rankloop, name)
    inside = f".{name}" if isinstance(value, type) or hasattr(value, "__module__") else ""
    return f"[`rl.{name}`][rankloop.{found[1]}{'' if is_measure(value) else inside}]"


def is_measure(value: object) -> bool:
    """Whether this is a measure, which is documented with its module."""
    return type(value).__name__ == "Measure"


def first_line(value: object) -> str:
    """Return the first line of a docstring, for a table."""
    if is_measure(value):
        return f"The measure {value}; `rl.{value} @ 10` has a cutoff."
    if not isinstance(value, type) and not callable(value):
        return "The names of conventions, and what they mean."
    text = (value.__doc__ or "").strip().split("\n", 1)[0]
    return ROLE.sub(r"`\1`", text).replace("|", "\\|")


def room_page(name: str) -> str:
    """Return where the page of a package lies, seen from the first page."""
    return page_of(f"rankloop.{name}").removeprefix("api/rankloop/")


def room_line(name: str) -> str:
    """Return what a package holds, in one line."""
    place = SOURCE / "rankloop" / name
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    line = path.read_text(encoding="utf-8").split('"""')[1].strip().split("\n", 1)[0]
    return ROLE.sub(r"`\1`", line)


def led_from(text: str, place: str) -> str:
    """Return a page's text with its links as they are on the site.

    >>> led_from("[a](../docs/serve.md#start), [b](../CONTRIBUTING.md)", "benchmarks/README.md")
    '[a](serve.md#start), [b](contributing.md)'
    """
    pages = {there: here for here, there in BROUGHT.items()}

    def lead(link: re.Match[str]) -> str:
        path, mark, heading = link[1].partition("#")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
        return f"]({pages.get(there, there.removeprefix('docs/'))}{mark}{heading})"

    return LINK.sub(lead, text)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Lead links of docs/ that leave it to the pages brought here; search for guides first."""
    if page.file.src_uri.startswith(("api/", "changelog", "benchmarks", "papers/")):
        page.meta["search"] = {"boost": 1e-4}  # titles count a thousandfold
    for here, there in BROUGHT.items():
        markdown = markdown.replace(f"](../{there}", f"]({here}")
    return markdown


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Keep code of the reference out of the search, which would be twice as large with it."""
    if not page.file.src_uri.startswith("api/"):
        return html
    return CODE.sub(r"<div data-search-exclude \1", html)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of modules below "API", a folder for each package."""
    top = tree_of("rankloop", modules())
    config.nav.append({"API": [{"import rankloop as rl": START}, *top]})
    return config


def tree_of(package: str, names: list[str]) -> list[str | dict[str, object]]:
    """Return a package's own page, then its modules and packages."""
    depth = package.count(".") + 1
    inside = [n for n in names if n.startswith(f"{package}.") and n.count(".") == depth]
    entries: list[str | dict[str, object]] = [page_of(package)]
    for name in inside:
        short = name.rpartition(".")[2]
        held = any(other.startswith(f"{name}.") for other in names)
        entries.append({short: tree_of(name, names) if held else page_of(name)})
    return entries
