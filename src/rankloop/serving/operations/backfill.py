"""A ranker that learns from a journal's past with the present features, added as a challenger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError
from rankloop.feedback.grading import grades_by, judgement_grades
from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.action_entries import ModelAdded
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.entries import digest_of
from rankloop.serving.learning.examples import make_example
from rankloop.serving.learning.models import Model, Quality, fresh, learn_examples
from rankloop.serving.operations.past_features import PastFeatures

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.learning.examples import Example
    from rankloop.serving.operations.archives import Archives
    from rankloop.serving.operations.past_features import PastRanking
    from rankloop.serving.security.vault import Vault
    from rankloop.serving.settings.loop import LoopSettings

_BATCH = 64  # examples that are learnt together, with the same result as one by one
_SAVE_EVERY = 2_000  # rankings


class Checkpoint(msgspec.Struct):
    """How far a backfill came: what it is about, its rankings so far, and the ranker."""

    about: bytes
    done: int
    body: bytes
    curve: Quality


@dataclass(frozen=True)
class Backfill:
    """What a backfill did.

    name : of the model that was added
    ranker : its ranker
    rankings : how many it learnt from
    resumed : how many of them before it was interrupted
    first : the first position that could be computed; later than 1 after a compaction without
        archives
    quality : mean nDCG@10, each ranking measured before it was learnt
    champion, champion_quality : the model that ranks now, and its mean
    position : of the entry
    """

    name: str
    ranker: str
    rankings: int
    resumed: int
    first: int
    quality: float
    champion: str
    champion_quality: float
    position: int


def backfill(
    journal: Journal,
    ranker: str = "",
    name: str = "",
    checkpoint: Path | None = None,
    vault: Vault | None = None,
    by: str = "",
    at: int = 0,
    progress: Callable[[float], None] | None = None,
    archives: Archives | None = None,
) -> Backfill:
    """Compute the features of all past rankings, learn from them, and add the model.

    A journal holds the raw events. So a ranker with features that were defined today learns as if
    they had always been there. Services may go on meanwhile; the model then learns with the others
    from what is closed after its entry. What is closed while this runs is not learnt.

    Parameters
    ----------
    ranker : one of the loop's rankers; by default, the first
    name : of the model; by default, that of the ranker with `.past`
    checkpoint : a file that keeps what was done, so that an interrupted backfill goes on with it;
        it is removed at the end
    vault : decrypts the texts of queries, for features that read them
    by : who does it
    at : the time, in milliseconds
    progress : called with the share that is done
    archives : of a journal that was compacted; without them, its past begins after that
    """
    engine = load_engine(journal)
    past = PastFeatures(journal, vault, archives)
    settings = past.settings
    text = ranker or settings.rankers[0]
    if text not in settings.rankers:
        raise DataError(
            f"the loop has no ranker {text!r}; choose one of {', '.join(settings.rankers)}, or add "
            "it to the settings first"
        )
    name = name or _free_name(f"{text}.past", engine)
    if name in engine.models:
        raise DataError(f"there is a model {name!r} already; give another name")
    learner = _Learner(journal, past, text, checkpoint)
    for number, ranking in enumerate(past, start=1):
        learner.add(number, ranking)
        if progress is not None:
            progress(number / len(past))
    learner.learn()
    entry = ModelAdded(name, dumps(learner.model.ranker), by)
    (outcome,) = journal.append([make_row(entry, at)])
    if outcome.status == "conflict":
        raise DataError(f"there was a model {name!r} before; give another name")
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    champion = engine.models[engine.champion]
    engine.learn()
    return Backfill(
        name,
        text,
        learner.model.curve.n,
        learner.resumed,
        past.first,
        learner.model.curve.mean,
        champion.name,
        champion.curve.mean,
        outcome.position,
    )


def _free_name(name: str, engine: Engine) -> str:
    number, found = 1, name
    while found in engine.models:
        number += 1
        found = f"{name}.{number}"
    return found


class _Learner:
    """Learns from rankings in order; those that a checkpoint has are passed over."""

    def __init__(
        self, journal: Journal, past: PastFeatures, text: str, checkpoint: Path | None
    ) -> None:
        self._settings, self._checkpoint = past.settings, checkpoint
        settings = past.settings
        self._waiting: list[Example] = []
        self._number = self.resumed = 0
        first = journal.rows(journal.base(), None, 1)
        about = (settings.to_bytes(), text.encode(), str(past.first).encode())
        self._about = digest_of(*about, *(row.fingerprint for row in first))
        made = settings.make_rankers()[text]
        self.model = Model("backfill", fresh(made, settings.names, settings.columns), 0)
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)

    def _resume(self, checkpoint: Path) -> None:
        try:
            found = msgspec.msgpack.decode(checkpoint.read_bytes(), type=Checkpoint)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DataError(f"{checkpoint}: cannot be read; remove it: {error}") from None
        if found.about != self._about:
            raise DataError(
                f"{checkpoint}: it is of another journal, ranker or settings; remove it, or name "
                "another file"
            )
        self.resumed = found.done
        self.model = Model("backfill", loads(found.body), 0, found.curve)

    def add(self, number: int, past: PastRanking) -> None:
        """Learn from the next ranking, counted from 1."""
        self._number = number
        if number <= self.resumed:
            return
        example = _make_example(self._settings, past)
        if example is not None:
            self._waiting.append(example)
        if len(self._waiting) >= _BATCH:
            self.learn()
        if number % _SAVE_EVERY == 0:
            self._save()

    def learn(self) -> None:
        """Learn from what waits."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            settings = self._settings
            learn_examples(
                waiting, [self.model], Quality(), _ignore, settings.columns, settings.names
            )

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        self.learn()
        body = dumps(self.model.ranker)
        state = Checkpoint(self._about, self._number, body, self.model.curve)
        with replace_when_done(self._checkpoint) as partial:
            partial.write_bytes(msgspec.msgpack.encode(state))


def _make_example(settings: LoopSettings, past: PastRanking) -> Example | None:
    """Return what a ranking teaches, as the engine does when its window is over."""
    ranking = past.ranked.ranking(past.pages, named=past.judged is not None, X=past.X)
    events = None
    if past.judged is not None:
        try:
            grades = judgement_grades(ranking, past.judged.judgement())
        except DataError:
            return None
    else:
        events = [event for event in past.events if event.item in ranking.places]
        grades = grades_by(settings.rules, ranking, events)
    if len({grade for grade in grades.tolist() if grade >= 0}) < 2:
        return None
    return make_example(settings, ranking, grades, past.position, events)


def _ignore(*_: object) -> None:
    """Pass over an example that a ranker cannot learn from; the live loop counts it."""
