"""Build the site of this version: `make docs`, or `python -m website FOLDER`.

FOLDER/VERSION/ holds the site, and FOLDER/index.html leads to every version that lies there, so
that older ones stay readable beside the newest. Warnings, such as a broken link, are errors.
"""

from __future__ import annotations

import html
import logging
import re
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Rankloop</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{look}body {{ max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }}</style></head>
<body><h1>Documentation of Rankloop</h1><ul>{versions}</ul></body></html>
"""


def build(folder: Path) -> Path:
    """Build the site, wholly or not at all, and return its folder."""
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config

    from rankloop import __version__

    target = folder / __version__
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of MkDocs itself; its log has those about our pages
        made = Path(new) / "site"
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(made), strict=True)
        config.site_name = f"{config.site_name} {__version__}"
        config.plugins.on_startup(command="build", dirty=False)
        try:
            make(config)
        finally:
            config.plugins.on_shutdown()
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    _write_index(folder)
    return target


def _write_index(folder: Path) -> None:
    """Write a page that leads to every version, the newest first."""
    sites = [place.parent for place in folder.glob("*/index.html")]
    newest_first = sorted(sites, key=lambda place: _order(place.name), reverse=True)
    lines = "".join(
        f'<li><a href="{name}/index.html">{name}</a></li>'
        for name in (html.escape(place.name) for place in newest_first)
    )
    look = (ROOT / "src/rankloop/look.css").read_text(encoding="utf-8")
    page = _INDEX.format(look=look, versions=lines)
    (folder / "index.html").write_text(page, encoding="utf-8")


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    from mkdocs.exceptions import Abort

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        place = build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site"))
    except Abort as error:
        sys.exit(str(error))
    sys.stdout.write(f"Open {place / 'index.html'}\n")
