"""The command line: one module a command, no logic of its own."""

from __future__ import annotations

import os
import sys
import warnings


def main() -> None:
    """Run the command line; the caller's mistakes end in one line and exit code 1."""
    from rankloop.cli.app import app
    from rankloop.exceptions import RankloopError

    warnings.showwarning = _show_warning
    try:
        app(prog_name="rankloop")
    except RankloopError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)
