// What an operator can do. Each act is asked about first, sent to the service, and journaled there.

import { actPath, ask as send } from "./api.js";
import { ask, facts, field, reason } from "./dialogs.js";
import { el, say } from "./dom.js";
import { count, ndcg } from "./words.js";

const JOURNALED = "The journal keeps this act, with your reason and the name of your token.";

export function promote(now, model, done) {
  const before = now.models.find((one) => one.champion);
  ask(`Promote ${model.name}?`, [
    facts(
      `People see the order of ${model.name} (recent nDCG@10 ${ndcg(model.recent)}) from the next ranking on.`,
      `${before.name} (recent ${ndcg(before.recent)}) is no longer the champion; it goes on learning as a challenger.`,
      `To undo it, promote ${before.name} again, or roll back to position ${count(now.position)}.`,
      JOURNALED,
    ),
    reason(),
  ], "Promote", async (form) => {
    const act = await send(actPath(now.loop, "promote"), { model: model.name, reason: form.reason.value });
    done(`${model.name} is promoted, at position ${count(act.position)} of the journal.`);
  });
}

export function rollBack(now, done) {
  const last = now.marks.findLast((mark) => mark.kind === "promotion");
  const position = last ? last.position - 1 : now.position;
  ask("Roll back?", [
    facts(
      "All models become what they were right after the position that you give, and so does the champion.",
      last ? `Position ${count(position)} is just before the last promotion: ${last.words}.` : `The journal ends at position ${count(now.position)}.`,
      "What was learnt since then is undone; the entries themselves stay in the journal.",
      "The journal is replayed beside the loop, which may take a while; rankings go on meanwhile.",
      JOURNALED,
    ),
    field("Position", el("input", { name: "position", type: "number", min: 1, max: now.position, value: position, required: true })),
    reason(),
  ], "Roll back", async (form) => {
    const body = { position: Number(form.position.value), reason: form.reason.value };
    const act = await send(actPath(now.loop, "rollback"), body, AbortSignal.timeout(600000));
    done(`Rolled back to position ${count(body.position)}; it stands at position ${count(act.position)}.`);
  });
}

export function startExperiment(now, done) {
  const champion = now.models.find((one) => one.champion);
  const others = now.models.filter((one) => !one.champion);
  const options = others.map((one) => el("option", { value: one.name }, `${one.name} (recent nDCG@10 ${ndcg(one.recent)})`));
  ask("Start an experiment?", [
    facts(
      `From the next ranking on, people see lists to which ${champion.name} and the challenger contribute by turns, both as they are now.`,
      "It ends by itself once clicks have decided. It spends a share of the loop's error budget.",
      JOURNALED,
    ),
    field("Challenger", el("select", { name: "challenger" }, options)),
    el("label", {}, el("input", { type: "checkbox", name: "promote" }), " Promote the challenger if it wins"),
  ], "Start", async (form) => {
    const body = { challengers: [form.challenger.value], promote: form.promote.checked ? "auto" : "no" };
    const act = await send(actPath(now.loop, "experiments"), body);
    done(`The experiment with ${body.challenger} has started, at position ${count(act.position)}.`);
  });
}

export function endExperiment(now, done) {
  const { id, champion, challenger, outcomes } = now.experiment;
  ask("End the experiment?", [
    facts(
      `${champion} ranks alone again; ${challenger} stays a challenger. Nobody is promoted.`,
      `What ${count(outcomes)} outcomes have shown stays in the journal; the error budget it took is spent.`,
      JOURNALED,
    ),
    reason(),
  ], "End it", async (form) => {
    const body = form.reason.value ? { reason: form.reason.value } : {};
    const act = await send(actPath(now.loop, `experiments/${encodeURIComponent(id)}/end`), body);
    done(`The experiment has ended, at position ${count(act.position)}.`);
  });
}

export const told = (refresh) => (words) => {
  say(words);
  refresh();
};
