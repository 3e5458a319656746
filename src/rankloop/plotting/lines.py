"""Styles that distinguish many lines in one figure."""

from __future__ import annotations

from typing import Any

_COLOURS = (
    *("#3b6ea8", "#d1603d", "#4f9d69", "#8e5ea2", "#c9a227"),
    *("#2b9eb3", "#b5446e", "#7a6a53", "#5f7a8a", "#1f1f1f"),
)
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def line_style(place: int) -> dict[str, Any]:
    """Return the style of the n-th line: ten colours, then the same ones dashed, dotted, and both.

    >>> line_style(0) == line_style(10), line_style(0)["color"] == line_style(10)["color"]
    (False, True)
    """
    turn, colour = divmod(place, len(_COLOURS))
    return {"color": _COLOURS[colour], "linestyle": _DASHES[turn % len(_DASHES)], "linewidth": 1.6}
