"""The documentation site builds without a broken link, and needs nothing but its own files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from benchmarks.chromium import BROWSER, DRIVER

import rankloop as rl

pytestmark = pytest.mark.slow  # the whole site is built
pytest.importorskip("mkdocs")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings_handlers.python")

ROOT = Path(__file__).resolve().parents[2]
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "0.0.9").mkdir()
    (folder / "0.0.9" / "index.html").write_text("an older version")
    command = [sys.executable, "-m", "website", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / rl.__version__


def pages(site):
    return {page.relative_to(site).as_posix(): page.read_text() for page in site.rglob("*.html")}


class Loaded(HTMLParser):
    """Collects what a browser loads with a page, and the classes of its elements."""

    def __init__(self):
        super().__init__()
        self.places, self.classes = [], set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.classes.update((found.get("class") or "").split())
        if tag in LOADS and found.get("rel") != "canonical":
            self.places.append(found.get(LOADS[tag]) or "")


def test_pages_load_only_files_of_the_site(site):
    for name, text in pages(site).items():
        loaded = Loaded()
        loaded.feed(text)
        assert loaded.places, name
        for place in filter(None, loaded.places):
            assert not re.match(r"\w+:|//", place), f"{name} loads {place}"
            path = re.split("[?#]", place)[0]
            start = site if path.startswith("/") else (site / name).parent
            assert (start / path.lstrip("/")).exists(), f"{name} loads {place}, which is not there"
        assert "mermaid" not in loaded.classes  # Material would load its script from elsewhere


def test_styles_load_only_files_of_the_site(site):
    for sheet in site.rglob("*.css"):
        text = sheet.read_text()
        assert "@import" not in text
        assert re.findall(r"url\((?!['\"]?(?:data:|#))[^)]*\)", text) == []


def test_every_public_name_has_its_place(site):
    known = zlib.decompress(site.joinpath("objects.inv").read_bytes().split(b"zlib.\n")[1]).decode()
    names = {line.split()[0] for line in known.splitlines()}
    stubs = (ROOT / "src/rankloop/__init__.pyi").read_text()
    lines = re.findall(r"^from \.([\w.]*) import (\w+) as", stubs, re.MULTILINE)
    offered = [(f"rankloop.{module}" if module else "rankloop", name) for module, name in lines]
    assert len(offered) > 50
    missing = [f"{module}.{name}" for module, name in offered if f"{module}.{name}" not in names]
    values = (".AP", ".ERR", ".nDCG", ".P", ".RR")
    assert [name for name in missing if not name.endswith(values)] == []


def test_a_ranker_has_its_formula_parameters_and_links(site):
    reference = {name: text for name, text in pages(site).items() if name.startswith("api/")}
    text = reference["api/rankloop/rankers/online/slam.html"]
    assert "<math>" in text
    assert "sum_i" not in text
    assert re.search(r"rate.{1,400}step size, above 0", text, re.DOTALL)
    assert 'href="linear.html#rankloop.rankers.online.linear.LinearRanker"' in text
    assert [name for name, text in reference.items() if ":class:" in text] == []
    listed = reference["api/rankloop/clicks/bias/result.html"]
    assert "Attributes:" in listed
    assert "method : " not in listed


def test_search_knows_guides_and_reference(site):
    index = json.loads((site / "search/search_index.json").read_text())
    places = {one["location"].partition("#")[0] for one in index["docs"]}
    assert {"tutorial.html", "serve.html", "api/rankloop/client.html"} <= places
    assert (site / "search/search_index.js").read_text().startswith("var __index = {")


def test_versions_lie_side_by_side(site):
    versions = (site.parent / "index.html").read_text()
    assert versions.index(f"{rl.__version__}/index.html") < versions.index("0.0.9/index.html")
    assert f"Rankloop {rl.__version__}" in (site / "index.html").read_text()
    assert 'href="../../../index.html"' in (site / "api/rankloop/client.html").read_text()


@pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver")
def test_search_works_in_pages_opened_as_files(site):
    pytest.importorskip("selenium")
    pytest.importorskip("PIL")
    from benchmarks.chromium import chromium, requests_of
    from benchmarks.site import found_by_search

    start = (site / "index.html").as_uri()
    with chromium() as browser:
        browser.get(start)
        first = found_by_search(browser, "position bias")[0]
        assert first.startswith(f"{site.as_uri()}/clicks.html")  # guides before the reference
        own = (site.as_uri(), "data:", "about:")
        asked = [one["url"] for one in requests_of(browser)]
        assert [url for url in asked if not url.startswith(own)] == []
        assert browser.get_log("browser") == []
