"""What must hold of a checkout before its version is published: run by `make release`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import rankloop as rl

ROOT = Path(__file__).resolve().parents[1]
PLACES = {
    "CITATION.cff": r"^version: (.+)$",
    "CHANGELOG.md": r"^## \[([^]]+)\]",
    "deploy/compose.yaml": r"image: rankloop:(.+)$",
    "deploy/kubernetes/rankloop.yaml": r"image: rankloop:(.+)$",
}
"""Files that name the version, and where; a release is the newest section of the changelog."""


def git(*words: str) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def find_faults() -> list[str]:
    """Return what stands against a release of this version."""
    version = rl.__version__
    faults = []
    for place, pattern in PLACES.items():
        text = (ROOT / place).read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        name = "no version" if found is None else found[1]
        if name != version:
            faults.append(f"{place} has {name}, and the package has {version}")
    if changed := git("status", "--porcelain"):
        faults.append(f"files are not committed:\n{changed}")
    if git("tag", "--list", f"v{version}"):
        faults.append(f"the tag v{version} exists; a version is published once")
    return faults


def main() -> None:
    """Print what stands against a release, or how to publish it."""
    if faults := find_faults():
        sys.exit("not ready for a release:\n- " + "\n- ".join(faults))
    print(
        f"Ready. To publish version {rl.__version__}, push its tag: git tag v{rl.__version__} && "
        f"git push origin v{rl.__version__}. The workflow builds the wheels and publishes them."
    )


if __name__ == "__main__":
    main()
