"""The settings that `rankloop serve --init` writes: everything that matters, explained."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TEMPLATE = """\
# Settings of a service. Check them with: rankloop serve {file} --check
# Any value can be set from outside too: RANKLOOP__SERVER__PORT=9000

[server]
host = "127.0.0.1"   # other addresses need [[tokens]]
port = {port}

# Who may do what. A new token and its hash: rankloop serve --new-token
# [[tokens]]
# name = "shop"
# sha256 = "..."
# scopes = ["rank", "feedback"]   # also: admin, metrics

# [limits]   # of one client, a token or an address; 0 is no limit
# requests_per_second = 100
# events_per_second = 1000

# Personal fields (query, user, session, about) are sealed under a key; without it, not stored.
# A new key: rankloop serve --new-key
# [privacy]
# master_key_file = "/etc/rankloop/master.key"   # or RANKLOOP_MASTER_KEY

# Feedback that pages send from browsers, by the ticket of a ranking.
# [browsers]
# origins = ["https://shop.example"]
# signing_key_file = "/etc/rankloop/signing.key"   # or RANKLOOP_SIGNING_KEY

[loops.{name}]
features = {features}
learners = {learners}   # the first ranks; the others learn in its shadow
journal = {journal}   # or postgresql://user@host/database
window = 1800   # seconds for which a ranking waits for feedback
lesson = "grades"   # what it teaches then: grades, pairs or ips
policy = "best-first"   # or plackett-luce, which explores, or apprentice, which shows your order

[loops.{name}.feedback]   # what each type is worth
click = 1
cart = 2
purchase = 3
skip = 0
dwell = {{ gain = 1, at_least = 30 }}   # thirty seconds of reading
"""


def write_template(path: Path, name: str, loop: Mapping[str, object], port: int) -> None:
    """Write settings for one loop; a file that is there already stays as it is.

    loop : its features, learners and journal
    """
    from rankloop.serving.config import as_settings

    as_settings({"server": {"port": port}, "loops": {name: loop}})
    values = {key: json.dumps(value) for key, value in loop.items()}
    text = _TEMPLATE.format(file=path.name, name=name, port=port, **values)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise DataError(f"{path}: there is such a file already; name another one") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
