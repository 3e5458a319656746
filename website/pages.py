"""What MkDocs is told besides docs/: a page for each module, and pages that lie elsewhere.

MkDocs calls the functions named `on_`; see `hooks` in mkdocs.yml.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

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
    for page, place in BROUGHT.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=led_from(text, place)))
    return files


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
    config.nav.append({"API": top})
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
