"""The core uses only what all later versions of Python have, so one wheel fits them."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "cpp"
STABLE = {
    *("PyBUF_WRITE", "PyBytes_AsStringAndSize", "PyBytes_Check", "PyErr_CheckSignals"),
    *("PyErr_NewException", "PyErr_Occurred", "PyErr_SetObject", "PyExc_ValueError"),
    *("PyLong_AsLongLong", "PyMemoryView_FromMemory", "PyTuple_New", "PyTuple_SetItem"),
    *("PyUnicode_AsUTF8AndSize", "PyUnicode_Check", "PyUnicode_DecodeUTF8"),
}
"""Names of https://docs.python.org/3/c-api/stable.html, as of version 3.12."""


def test_names_of_python_are_stable():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("bind/*.?pp"))
    assert set(re.findall(r"\b_?Py[A-Z][A-Za-z]*_\w+", text)) <= STABLE
