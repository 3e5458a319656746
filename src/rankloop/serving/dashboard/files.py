"""The files of the page, ready to send: read once, compressed once, named by their contents."""

from __future__ import annotations

import gzip
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

PATH = "/dashboard/static/{version}/{name}"

_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "vary": "accept-encoding",
}


class File(NamedTuple):
    """A file, plain and compressed."""

    plain: bytes
    compressed: bytes
    kind: str


class Files:
    """All files of the page.

    `version` is a digest of their contents, and part of `base`, where they are: so browsers may
    keep them forever, and never mix those of two releases. The page itself is requested each time.
    """

    def __init__(self) -> None:
        folder = files("rankloop.serving.dashboard") / "static"
        bodies = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        bodies["look.css"] = (files("rankloop") / "look.css").read_bytes()
        digest = blake2b(digest_size=8)
        for name in sorted(bodies):
            digest.update(name.encode() + b"\0" + bodies[name])
        self.version = digest.hexdigest()
        self.base = PATH.format(version=self.version, name="").rstrip("/")
        bodies["index.html"] = bodies["index.html"].replace(b"{static}", self.base.encode())
        self._files = {
            name: File(body, gzip.compress(body, 9, mtime=0), _KINDS[name.rpartition(".")[2]])
            for name, body in bodies.items()
        }

    def response(self, name: str, version: str | None, zipped: bool) -> Response | None:
        """Return a file as an answer; None if there is none with this name and version."""
        file = self._files.get(name)
        if file is None or version not in (None, self.version):
            return None
        caching = "no-cache" if version is None else "public, max-age=31536000, immutable"
        return _response(file, caching, zipped)

    def page(self, html: str, zipped: bool) -> Response:
        """Return a page that was made for this request as an answer."""
        plain = html.encode()
        file = File(plain, gzip.compress(plain, 6, mtime=0), _KINDS["html"])
        return _response(file, "no-cache", zipped)


def _response(file: File, caching: str, zipped: bool) -> Response:
    headers = {**_HEADERS, "cache-control": caching}
    if zipped:
        headers["content-encoding"] = "gzip"
    return Response(
        file.compressed if zipped else file.plain, headers=headers, media_type=file.kind
    )
