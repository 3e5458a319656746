"""What each kind of entry changes in the state of a loop.

One function for each kind; what it returns goes into the chain of the digest. Those that change
models call `learn` first: examples that wait are for the models as they are now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.feedback.grading import grades_by, judgement_grades
from rankloop.rankers.model_files.saving import loads
from rankloop.serving.engine.epochs import epoch_state, quarantined_state, refuse_newer
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import (
    Checked,
    Compacted,
    Configured,
    EpochStarted,
    ExperimentEnded,
    ExperimentStarted,
    ModelAdded,
    ModelRemoved,
    Promoted,
    Quarantined,
    Retried,
    RolledBack,
)
from rankloop.serving.journal.ranking_entries import (
    Closed,
    Judged,
    Observed,
    Paged,
    Ranked,
    RankedId,
)
from rankloop.serving.learning.failures import DivergedError, is_contained
from rankloop.serving.learning.models import Model, fresh, model_name
from rankloop.serving.settings.loop import read_journaled, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.engine.joins import Open
    from rankloop.serving.journal.base import Record


def _configure(engine: Engine, record: Record, entry: Configured) -> None:
    engine.learn()
    before = engine.settings
    settings = read_journaled(entry.settings, before)
    if before is None:
        refuse_newer(entry.engine, f"entry {record.position}")
        engine.epoch = entry.engine
    if settings.computes and (before is None or before.feature_rules != settings.feature_rules):
        engine.columns = {**engine.columns, record.position: settings.names}
    # Models of unchanged rankers go on. Of all others, those that operators added stay, and so
    # does the champion; a ranker that was removed from the settings goes.
    configured = () if before is None else before.rankers
    models = {}
    for text, ranker in settings.make_rankers().items():
        name = model_name(text, settings, engine.models)
        models[name] = engine.models.get(name) or Model(
            name, fresh(ranker, settings.names, settings.columns), record.position
        )
    for name, model in engine.models.items():
        if name not in configured or name == engine.champion:
            models.setdefault(name, model)
    engine.settings, engine.models = settings, models
    engine.experiments.champion = engine.champion or next(iter(models))


def _open_ranking(engine: Engine, record: Record, entry: Ranked | RankedId) -> None:
    engine.totals.rankings += 1
    engine.joins.open_ranking(entry.id, record.position, record.at)


def _add_event(engine: Engine, record: Record, entry: Observed) -> str:
    settings = engine.require_settings()
    status = engine.joins.add_event(
        entry.ranking_id, record.position, settings.max_early, settings.max_events
    )
    totals = engine.totals
    totals.events += 1
    if status == "applied":
        return status
    totals.pending += status == "pending"
    totals.late += status == "late"
    totals.rejected += status == "rejected"
    if status == "late" and settings.late:
        late = engine.joins.add_late_event(entry.ranking_id, record.position, settings.max_events)
        if late is not None:
            return f"late, {_learn_from(engine, late, record.position, late=True)}"
    return status


def _add_page(engine: Engine, _: Record, entry: Paged) -> None:
    engine.joins.add_page(entry.ranking_id, entry.page)


def _close_ranking(engine: Engine, record: Record, entry: Closed) -> str:
    settings = engine.require_settings()
    waiting = engine.joins.close(entry.ranking_id, settings.max_closed)
    if waiting is None:
        return "unknown"
    engine.totals.closed += 1
    if not waiting.events:
        return "nothing"  # as for most rankings: without feedback, nothing is learnt
    return _learn_from(engine, waiting, record.position)


def _learn_from(engine: Engine, waiting: Open, position: int, late: bool = False) -> str:
    """Join a ranking with its feedback, judge a running experiment by it, and learn."""
    settings, experiment = engine.require_settings(), engine.running
    ranked = engine.ranking_at(waiting.position)
    ranking = ranked.ranking(waiting.pages, X=engine.matrix(ranked))
    events = []
    for place in waiting.events:
        event = engine.entry_at(place)
        if isinstance(event, Observed) and event.item in ranking.places:
            events.append(event)
        elif not late:  # a late event repeats the whole ranking, whose strays are counted
            engine.totals.strays += 1
    # An experiment keeps the rules of its start, so that new settings cannot move a comparison
    # that is running. Each ranking counts once, so late feedback does not count again.
    if experiment is not None and ranked.experiment == experiment.id and not late:
        try:
            rules = rules_of(experiment.feedback)
            experiment.judge(ranked, grades_by(rules, ranking, events), settings.max_closed)
        except Exception as error:  # the models can still learn from the ranking
            if not is_contained(error):
                raise
            engine.fail(position, f"experiment {experiment.id}", error)
    grades = grades_by(settings.rules, ranking, events)
    return engine.add_example(ranking, grades, position, events)


def _judge(engine: Engine, record: Record, entry: Judged) -> str:
    engine.totals.judgements += 1
    return _learn_judgement(engine, entry, record.position)


def _learn_judgement(engine: Engine, entry: Judged, position: int) -> str:
    ranked = engine.ranking_at(entry.position)
    ranking = ranked.ranking(named=True, X=engine.matrix(ranked))
    try:
        grades = judgement_grades(ranking, entry.judgement())
    except DataError:
        return "rejected"
    return engine.add_example(ranking, grades, position)


def _add_model(engine: Engine, record: Record, entry: ModelAdded) -> None:
    engine.learn()
    engine.models[entry.name] = Model(entry.name, loads(entry.model), record.position)


def _remove_model(engine: Engine, _: Record, entry: ModelRemoved) -> str:
    engine.learn()
    tried = () if engine.running is None else engine.running.names
    if entry.name == engine.champion or entry.name in tried or entry.name not in engine.models:
        return "refused"
    del engine.models[entry.name]
    return entry.name


def _promote(engine: Engine, record: Record, entry: Promoted) -> str:
    engine.learn()
    settings = engine.require_settings()
    return engine.experiments.promote(entry, engine.models, settings, record.position)


def _roll_back(engine: Engine, record: Record, entry: RolledBack) -> str:
    engine.learn()
    models = {}
    for name, body in entry.models.items():
        before = engine.models.get(name)
        curve = None if before is None else before.curve
        models[name] = Model(name, loads(body), record.position, curve)
    engine.models |= models
    engine.experiments.champion, engine.experiments.running = entry.champion, None
    return entry.champion


def _start_experiment(engine: Engine, _: Record, entry: ExperimentStarted) -> str:
    engine.learn()
    return engine.experiments.start(entry, engine.models, engine.require_settings())


def _end_experiment(engine: Engine, record: Record, entry: ExperimentEnded) -> str:
    engine.learn()
    settings = engine.require_settings()
    return engine.experiments.end(entry, engine.models, settings, record.position)


def _start_epoch(engine: Engine, record: Record, entry: EpochStarted) -> str:
    state = epoch_state(entry, record.position)
    if state is None:
        return "passed over"
    engine.restore(state)
    engine.epoch, engine.digests = entry.engine, {}
    engine.experiments.running = None  # its outcomes are of the older version
    return "started"


def _quarantine(engine: Engine, record: Record, entry: Quarantined) -> str:
    state = quarantined_state(entry, record.position)
    if state is None:
        return "passed over"
    engine.restore(state)
    engine.digests = {}  # those in between are of a state that had the entry
    return "quarantined"


def _retry(engine: Engine, record: Record, entry: Retried) -> str:
    """Learn again from what a closing or a judgement should have given."""
    failed = engine.entry_at(entry.position)
    if isinstance(failed, Judged):
        return _learn_judgement(engine, failed, record.position)
    if isinstance(failed, Closed):
        ranking = engine.joins.closed.get(failed.ranking_id)
        if ranking is not None:
            return _learn_from(engine, ranking, record.position, late=True)
    return "refused"


def _compact(engine: Engine, _: Record, entry: Compacted) -> None:
    engine.base = max(engine.base, entry.until)


def _compare_digest(engine: Engine, _: Record, entry: Checked) -> None:
    if engine.epoch != ENGINE:  # the digests of another version are of other bits
        return
    digest = engine.digests.get(entry.position)
    if digest is not None and digest != entry.digest:
        raise DivergedError(
            f"after entry {entry.position} the state here has the digest {digest}, but the "
            f"journal has {entry.digest}; start again from a snapshot or by replay"
        )


EFFECTS: Mapping[type, Callable[..., object]] = {
    Configured: _configure,
    Ranked: _open_ranking,
    RankedId: _open_ranking,
    Observed: _add_event,
    Closed: _close_ranking,
    Judged: _judge,
    Paged: _add_page,
    ModelAdded: _add_model,
    ModelRemoved: _remove_model,
    Promoted: _promote,
    RolledBack: _roll_back,
    ExperimentStarted: _start_experiment,
    ExperimentEnded: _end_experiment,
    EpochStarted: _start_epoch,
    Quarantined: _quarantine,
    Retried: _retry,
    Compacted: _compact,
    Checked: _compare_digest,
}
