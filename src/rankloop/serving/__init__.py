"""The live loop: rank, journal, observe, learn, rank again; every state can be reproduced."""

from importlib.util import find_spec

from rankloop.exceptions import MissingExtraError

# Every module here needs all of these. They are checked once, so that the error names the extra to
# install, and not only the first import that fails.
for _package in (
    "cryptography",
    "msgspec",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "zstandard",
):
    if find_spec(_package) is None:
        raise MissingExtraError(_package.replace("_", "-"), "serve", "the live loop")
