"""Write unicode.hpp: which characters are parts of words, and their plain form in lower case.

The table is made once, from one version of Unicode, and stored: what a text means must not change
with the version of Python.
"""

import unicodedata
from pathlib import Path

SEPARATOR, SKIP = 0, 1
NO_CHANGE = 999_999  # larger than any difference
LAST = 0x32000


def plain(code: int) -> int:
    """Return the plain form of a character, 0 between words, 1 for marks that are left out."""
    char = chr(code)
    kind = unicodedata.category(char)
    if kind in ("Mn", "Me") or code in (0xAD, 0x200C, 0x200D):
        return SKIP
    if kind[0] not in "LN":
        return SEPARATOR
    if not (code < 0x600 or 0x1E00 <= code < 0x2000 or 0xFF00 <= code < 0xFFF0):
        return ord(char.lower()) if len(char.lower()) == 1 else code
    folded = unicodedata.normalize("NFKD", char.lower())  # Latin, Greek, Cyrillic; wide forms
    letters = [c for c in folded.lower() if unicodedata.category(c) not in ("Mn", "Me")]
    return ord(letters[0]) if len(letters) == 1 else code


def main() -> None:
    """Write runs of characters: the first one, and the difference to its plain form."""
    runs: list[tuple[int, int]] = []
    for code in range(128, LAST + 1):
        form = plain(code)
        value = form - code if form > SKIP else NO_CHANGE - form
        if not runs or runs[-1][1] != value:
            runs.append((code, value))
    body, line = "", ""
    for code, value in runs:
        item = f"{{0x{code:x}, {value}}},"
        if len(line) + len(item) > 110:
            body, line = body + f"    {line.strip()}\n", ""
        line += " " + item
    body += f"    {line.strip()}\n"
    Path(__file__).with_name("unicode.hpp").write_text(
        f"// Made by make_unicode.py, Unicode {unicodedata.unidata_version}: runs of characters "
        "from `first` on, and the\n// difference to the plain form; separator and skip are no "
        "differences.\n"
        "#pragma once\n\n#include <cstdint>\n\nnamespace rankloop::features {\n\n"
        "struct Run {\n    std::uint32_t first;\n    std::int32_t change;\n};\n\n"
        f"inline constexpr std::int32_t separator = {NO_CHANGE}, skip = {NO_CHANGE - 1};\n\n"
        f"// clang-format off\ninline constexpr Run runs[] = {{\n{body}}};\n// clang-format on\n\n"
        "}  // namespace rankloop::features\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
