"""The settings that `rankloop serve --init` writes: all important settings, with comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop._utils.toml_text import toml_key, toml_value
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TEMPLATE = """\
# Settings of a service. Check them with: rankloop serve {file} --check
# Any value can also be set by an environment variable: RANKLOOP__SERVER__PORT=9000

[server]
host = "127.0.0.1"   # other addresses need [[tokens]]
port = {port}

# Who may do what. A new token and its hash: rankloop serve --new-token
# [[tokens]]
# name = "shop"
# sha256 = "..."
# scopes = ["rank", "feedback"]   # also: admin, metrics

# [limits]   # for each client (a token, or an address without tokens); 0 means no limit
# requests_per_second = 100
# events_per_second = 1000

# Personal fields (query, user, session, about) are encrypted with this key; without a key they
# are not stored.
# A new key: rankloop serve --new-key
# [privacy]
# master_key_file = "/etc/rankloop/master.key"   # or RANKLOOP_MASTER_KEY

# Feedback that browsers send directly, with the ticket of a ranking.
# [browsers]
# origins = ["https://shop.example"]
# signing_key_file = "/etc/rankloop/signing.key"   # or RANKLOOP_SIGNING_KEY

[loops.{name}]
{features}{model}rankers = {rankers}   # the first one ranks; the others learn without being shown
journal = {journal}   # or postgresql://user@host/database
window = 1800   # seconds to wait for feedback before learning from a ranking
learn_from = "grades"   # how feedback becomes training data: grades, shown, pairs, ips or pdgd
policy = "best-first"   # or plackett-luce, which explores, or apprentice, which shows your order

[loops.{name}.feedback]   # the grade of each type of feedback
click = 1
cart = 2
purchase = 3
skip = 0
dwell = {{ gain = 1, at_least = 30 }}   # reading for thirty seconds
"""
_MODEL = "model = {}   # ranks from the start; the rankers learn beside it\n"
_DEFINED = "\n[loops.{}.features]   # what callers send with each item; null is a missing value\n"


def write_template(path: Path, name: str, loop: Mapping[str, object], port: int) -> None:
    """Write settings for one loop; an existing file is not changed.

    loop : its features, rankers and journal, and perhaps a model
    """
    from rankloop.serving.settings.service import as_settings

    as_settings({"server": {"port": port}, "loops": {name: loop}})
    values = {key: toml_value(loop[key]) for key in ("rankers", "journal")}
    values["model"] = _MODEL.format(toml_value(loop["model"])) if "model" in loop else ""
    features, more = loop["features"], ""
    if isinstance(features, dict):
        lines = (f"{toml_key(key)} = {toml_value(value)}\n" for key, value in features.items())
        more = _DEFINED.format(toml_key(name)) + "".join(lines)
    values["features"] = "" if more else f"features = {toml_value(features)}\n"
    text = _TEMPLATE.format(file=path.name, name=toml_key(name), port=port, **values) + more
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise DataError(f"{path}: this file already exists; give another name") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
