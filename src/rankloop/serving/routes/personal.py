"""Personal fields: encrypted when they arrive, shown to operators, forgotten on request."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Literal

import msgspec

from rankloop.feedback.ids import new_id
from rankloop.serving.journal.action_entries import Forgotten
from rankloop.serving.journal.feature_entries import Asker
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, check_printable
from rankloop.serving.security.vault import Personal, hash_session

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call
    from rankloop.serving.routes.feedback import LoggedRanking
    from rankloop.serving.routes.rank import PackedRankRequest, RankRequest
    from rankloop.serving.security.vault import Key, Vault

_log = logging.getLogger("rankloop.actions")


async def encrypt_personal(
    loop: Loop, entry: Ranked, request: RankRequest | PackedRankRequest | LoggedRanking
) -> tuple[Ranked, Key | None]:
    """Return a ranking with the personal fields of its request encrypted, and the key.

    The key is stored with the ranking, unless it is already in the journal (`stored`). Without a
    master key, only a pseudonym of the session is stored, and only for one experiment.
    """
    personal = Personal(request.query, request.user, request.session, request.about)
    if not personal:
        return entry, None
    check_printable([request.user or "", request.session or ""])
    who = request.session or request.user
    if loop.vault is None:
        if entry.experiment is None or who is None:
            return entry, None
        return msgspec.structs.replace(entry, session=hash_session(entry.experiment, who)), None
    subject = personal.subject(entry.id)
    key = loop.vault.at_hand(subject)
    if key is None:
        key = await asyncio.to_thread(loop.read, lambda j: _vault(loop).key_of(subject, j))
    named = entry.experiment is not None and who is not None
    session = key.pseudonym(str(entry.experiment), str(who)) if named else None
    body = key.encrypt(entry.id, personal)
    return msgspec.structs.replace(entry, session=session, encrypted=body), key


class PersonalAnswer(msgspec.Struct, omit_defaults=True):
    """The personal fields of a ranking.

    status : `kept`, `forgotten`, or `none` if nothing was sent or there was no master key
    """

    ranking_id: str
    status: Literal["kept", "forgotten", "none"]
    personal: Personal | None = None


async def personal(call: Call) -> Response:
    """Show the personal fields of a ranking; the log records who looked."""
    loop, ranking_id = call.loop, call.path["id"]
    record = await asyncio.to_thread(loop.find_ranking, ranking_id)
    if record is None or not isinstance(record.entry, Ranked):
        raise HTTPProblem(404, f"there is no ranking {ranking_id!r:.80} in this loop's journal")
    _log.info(
        "read personal fields",
        extra={"fields": {"action": "read personal", "by": call.who, "position": record.position}},
    )
    body = record.entry.encrypted
    if body is None:
        return answer(PersonalAnswer(ranking_id, "none"))
    vault = _vault(loop)
    opened = await asyncio.to_thread(loop.read, lambda j: vault.decrypt(ranking_id, body, j))
    return answer(PersonalAnswer(ranking_id, "forgotten" if opened is None else "kept", opened))


class ForgetRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Whom to forget: a user, a session without a user, or the person who saw a ranking.

    Give one of `user`, `session` and `ranking_id`. A second request with the
    same `id` has no effect.
    """

    user: Id | None = None
    session: Id | None = None
    ranking_id: Id | None = None
    id: Id | None = None


class ForgetAnswer(msgspec.Struct):
    """How many keys were destroyed, and the position of this entry in the journal.

    status : `accepted`, or `duplicate` for a second request with the same id; `pending` while the
        file still shows the keys, because another process reads it. Send the same request again
        to see whether they are gone; the service erases them as soon as it can
    """

    id: str
    status: str
    position: int | None
    keys: int


async def forget(call: Call) -> Response:
    """Destroy a person's keys, so that their personal fields can never be read again.

    A loop that computes features also removes the person's counters and fields.
    """
    loop, request = call.loop, call.body
    vault = _vault(loop) if loop.hashes is None else loop.vault
    given = [
        name for name in (request.user, request.session, request.ranking_id) if name is not None
    ]
    if len(given) != 1:
        raise HTTPProblem(
            422, f"found {len(given)} of user, session and ranking_id; give one of them"
        )
    check_printable([*given, request.id or ""])
    keys: list[bytes] = []
    if vault is not None:
        keys = await asyncio.to_thread(
            loop.read,
            lambda j: vault.forgettable(j, request.user, request.session, request.ranking_id),
        )
    counters = await asyncio.to_thread(_counters_of, loop, request)
    action_id = request.id or new_id()
    entry = Forgotten(action_id, keys, call.who, counters)
    (outcome,) = await loop.submit_from(asyncio.get_running_loop(), [entry])
    if outcome.status == "conflict":
        raise HTTPProblem(409, f"{action_id!r} already exists with other contents; use another id")
    status = outcome.status if await asyncio.to_thread(loop.scrub) else "pending"
    return answer(ForgetAnswer(action_id, status, outcome.position, len(keys)))


def _counters_of(loop: Loop, request: ForgetRequest) -> tuple[bytes, ...]:
    """Return the hashes by which counters of features know a person."""
    hashes = loop.hashes
    if hashes is None:
        return ()
    asker = Asker(hashes.user(request.user), hashes.session(request.session))
    if request.ranking_id is not None:
        record = loop.find_ranking(request.ranking_id)
        if record is not None and isinstance(record.entry, Ranked):
            computed = record.entry.computed
            asker = asker if computed is None else computed.asker
    return tuple(key for key in (asker.user, asker.session) if key is not None)


def _vault(loop: Loop) -> Vault:
    if loop.vault is None:
        raise HTTPProblem(
            422,
            "this service has no master key, so it can neither store nor read personal "
            "fields; set privacy.master_key_file, or RANKLOOP_MASTER_KEY",
        )
    return loop.vault


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/{loop}/rankings/{id}/personal",
        personal,
        "The stored personal fields of a ranking.",
        "admin",
        answer=PersonalAnswer,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/forget",
        forget,
        "Forget a person.",
        "admin",
        ForgetRequest,
        answer=ForgetAnswer,
    ),
)
