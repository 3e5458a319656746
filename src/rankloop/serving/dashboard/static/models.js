// Models side by side, the running experiment, and what an operator can do with them.

import { announce, endExperiment, promote, rollBack, startExperiment } from "./actions.js";
import { note } from "./bars.js";
import { el, fill, svg, table } from "./dom.js";
import { scale } from "./scales.js";
import { count, duration, fixed, ndcg, percent } from "./words.js";

export function showModels(host, now, refresh) {
  const heads = [{ name: "Model" }, { name: "Recent", number: true }, { name: "All", number: true }, { name: "" }];
  const rows = now.models.toSorted((a, b) => b.recent - a.recent).map((model) => [
    model.name,
    ndcg(model.rankings ? model.recent : null),
    ndcg(model.rankings ? model.mean : null),
    model.champion
      ? el("span", { class: "badge" }, "champion")
      : el("button", { type: "button", "data-key": `promote ${model.name}`, "aria-label": `Promote ${model.name}`, onclick: () => promote(now, model, announce(refresh)) }, "Promote"),
  ]);
  const shown = ["what people saw", ndcg(now.shown.rankings ? now.shown.recent : null), ndcg(now.shown.rankings ? now.shown.mean : null), ""];
  fill(host, table(heads, [...rows, shown]),
    note(`nDCG@10 on ${count(now.shown.rankings)} rankings with feedback. Policy ${now.policy}; learns from ${now.learn_from}.`),
    el("button", { type: "button", "data-key": "rollback", onclick: () => rollBack(now, announce(refresh)) }, "Roll back …"));
}

export function showExperiment(host, now, perSecond, refresh) {
  const running = now.experiment;
  const start = el("button", { type: "button", "data-key": "start", disabled: now.models.length < 2, onclick: () => startExperiment(now, announce(refresh)) }, "Start an experiment …");
  if (!running) {
    fill(host, note(now.models.length < 2 ? "No experiment is running, and there is no challenger to try." : "No experiment is running."), start);
    return;
  }
  fill(host,
    running.holdback ? note(`${running.champion} was promoted, and is still compared: the previous champion returns if it proves better.`) : null,
    ...running.challengers.flatMap((rival) => challenger(rival, running, perSecond)),
    note(`On ${percent(running.share)} of rankings. An outcome is 1 where the challenger's items got more clicks, −1 where the champion's did. The interval is valid at all times, so you may look as often as you like.`),
    el("div", { class: "row" },
      el("button", { type: "button", "data-key": "end", onclick: () => endExperiment(now, announce(refresh)) }, "End the experiment …"),
      running.holdback ? start : null));
}

function challenger(rival, { champion, share }, perSecond) {
  const mean = rival.outcomes ? (rival.wins - rival.losses) / rival.outcomes : 0;
  return [
    el("p", {}, el("strong", {}, rival.name), " against ", el("strong", {}, champion)),
    el("p", { class: "big" }, `${count(rival.wins)} won, ${count(rival.losses)} lost`, el("span", { class: "quiet" }, ` of ${count(rival.outcomes)} outcomes`)),
    interval(rival.low, rival.high, mean),
    el("p", {}, `Mean outcome ${fixed(3)(mean)}, between ${fixed(3)(rival.low)} and ${fixed(3)(rival.high)}. `, verdict(rival, champion, share * perSecond)),
  ];
}

function verdict({ needs, low, high, name }, champion, perSecond) {
  if (low > 0) return `${name} is better.`;
  if (high < 0) return `${champion} is better.`;
  if (needs === null) return "Still open: so far they are too close to say how many more outcomes it needs.";
  const time = perSecond > 0 ? `, about ${duration(needs / perSecond)} at this pace` : "";
  return `Still open: about ${count(needs)} more outcomes would decide it, if they continue as so far${time}.`;
}

function interval(low, high, mean) {
  const x = scale(-1, 1, 6, 294);
  return el("div", { class: "chart" }, svg("svg", { viewBox: "0 0 300 40", height: 40, "aria-hidden": "true" },
    svg("line", { class: "axis", x1: 6, x2: 294, y1: 16, y2: 16 }),
    svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 4, y2: 28 }),
    svg("line", { class: "s1", x1: x(low), x2: x(high), y1: 16, y2: 16, "stroke-width": 6 }),
    svg("circle", { class: "bar", cx: x(mean), cy: 16, r: 6 }),
    svg("text", { x: 6, y: 39 }, "champion"),
    svg("text", { x: 294, y: 39, "text-anchor": "end" }, "challenger")));
}
