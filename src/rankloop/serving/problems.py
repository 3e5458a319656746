"""Errors as RFC 9457 problem documents: what was found, what was expected, what to do."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from rankloop.exceptions import RankloopError
from rankloop.serving.journal.base import BusyError, CompactedError, JournalError

_TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "The token does not allow this",
    404: "Not found",
    405: "This method is not allowed here",
    408: "The request took too long to arrive",
    409: "This conflicts with what is stored",
    410: "This is only in the archive",
    413: "The request is too large",
    415: "This content type is not supported",
    422: "The request cannot be used",
    429: "Too many requests",
    431: "The headers are too large",
    500: "The service has an internal error",
    503: "Try again in a moment",
}


class HTTPProblem(RankloopError):  # noqa: N818 - what RFC 9457 calls it
    """A request that cannot be answered as requested.

    Parameters
    ----------
    status : the HTTP status
    detail : what was found, what was expected, what to do
    retry_after : seconds after which to try again, if that helps
    close : whether to close the connection, because the rest of the request is not read
    more : further members of the document
    """

    def __init__(
        self, status: int, detail: str, retry_after: int = 1, close: bool = False, **more: object
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more
        self._retry_after, self._close = retry_after, close

    def response(self) -> Response:
        """Return it as an answer."""
        document = {
            "type": "about:blank",
            "title": _TITLES.get(self.status, "The request was not answered"),
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        headers = {}
        if self.status in (429, 503):
            headers["retry-after"] = str(self._retry_after)
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self._close:
            headers["connection"] = "close"
        return Response(
            msgspec.json.encode(document),
            self.status,
            headers,
            media_type="application/problem+json",
        )


def as_problem(error: Exception) -> HTTPProblem:
    """Return the problem document of an error of this package."""
    if isinstance(error, HTTPProblem):
        return error
    if isinstance(error, CompactedError):
        return HTTPProblem(410, str(error))
    if isinstance(error, BusyError | JournalError):
        return HTTPProblem(503, str(error))
    return HTTPProblem(422, str(error))
