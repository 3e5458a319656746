// What an operator can do. Each action is confirmed first, sent to the service, and stored in the journal.

import { actPath, ask as send } from "./api.js";
import { ask, check, facts, field, reason } from "./dialogs.js";
import { el, say } from "./dom.js";
import { count, ndcg } from "./words.js";

const KEPT = "The journal keeps this action, with the name of your token.";
const JOURNALED = "The journal keeps this action, with your reason and the name of your token.";

export function promote(now, model, done) {
  const before = now.models.find((model) => model.champion);
  ask(`Promote ${model.name}?`, [
    facts(
      `People see the order of ${model.name} (recent nDCG@10 ${ndcg(model.recent)}) from the next ranking on.`,
      `${before.name} (recent ${ndcg(before.recent)}) is no longer the champion; it continues to learn as a challenger.`,
      `To undo it, promote ${before.name} again, or roll back to position ${count(now.position)}.`,
      JOURNALED,
    ),
    reason(),
    check("holdback", ` Hold back: on a tenth of rankings, compare it with ${before.name}, which becomes champion again if it proves better`),
  ], "Promote", async (form) => {
    const act = await send(actPath(now.loop, "promote"), { model: model.name, holdback: form.holdback.checked ? 0.1 : 0, reason: form.reason.value });
    done(`${model.name} is promoted, at position ${count(act.position)} of the journal.`);
  });
}

export function rollBack(now, done) {
  const last = now.marks.findLast((mark) => mark.kind === "promotion");
  const position = last ? last.position - 1 : now.position;
  ask("Roll back?", [
    facts(
      "All models, and the choice of the champion, return to their state right after the position that you give.",
      last ? `Position ${count(position)} is just before the last promotion: ${last.words}.` : `The journal ends at position ${count(now.position)}.`,
      "What was learnt since then is undone; the entries themselves stay in the journal.",
      "The journal is replayed in the background, which may take a while; rankings continue meanwhile.",
      JOURNALED,
    ),
    field("Position", el("input", { name: "position", type: "number", min: 1, max: now.position, value: position, required: true })),
    reason(),
  ], "Roll back", async (form) => {
    const body = { position: Number(form.position.value), reason: form.reason.value };
    const act = await send(actPath(now.loop, "rollback"), body, AbortSignal.timeout(600000));
    done(`Rolled back to position ${count(body.position)}; the journal has it at position ${count(act.position)}.`);
  });
}

export function startExperiment(now, done) {
  const champion = now.models.find((model) => model.champion);
  const others = now.models.filter((model) => !model.champion);
  ask("Start an experiment?", [
    facts(
      `From the next ranking on, people see lists to which ${champion.name} and the challengers contribute in turn, all as they are now.`,
      "It ends by itself once clicks have decided. It uses a share of the loop's error budget.",
      KEPT,
    ),
    el("fieldset", {}, el("legend", {}, "Challengers"), others.map((model, i) =>
      check("challenger", ` ${model.name} (recent nDCG@10 ${ndcg(model.recent)})`, model.name, i === 0))),
    field("If one wins", el("select", { name: "promote" },
      el("option", { value: "no" }, "only report it"),
      el("option", { value: "auto" }, "promote it with what it has learnt since, then hold back"),
      el("option", { value: "snapshot" }, "promote it in the state that won, then hold back"))),
  ], "Start", async (form) => {
    const challengers = [...form].filter((input) => input.name === "challenger" && input.checked).map((input) => input.value);
    if (!challengers.length) throw new Error("Choose at least one challenger.");
    const act = await send(actPath(now.loop, "experiments"), { challengers, promote: form.promote.value });
    done(`The experiment with ${challengers.join(", ")} has started, at position ${count(act.position)}.`);
  });
}

export function endExperiment(now, done) {
  const { id, champion, challengers } = now.experiment;
  ask("End the experiment?", [
    facts(
      `${champion} ranks alone again. Nobody is promoted; ${challengers.map((challenger) => challenger.name).join(", ")} can be tried again.`,
      "What it has shown stays in the journal; the error budget that it took is used up.",
      JOURNALED,
    ),
    reason(),
  ], "End it", async (form) => {
    const body = form.reason.value ? { reason: form.reason.value } : {};
    const act = await send(actPath(now.loop, `experiments/${encodeURIComponent(id)}/end`), body);
    done(`The experiment has ended, at position ${count(act.position)}.`);
  });
}

export const announce = (refresh) => (words) => {
  say(words);
  refresh();
};
