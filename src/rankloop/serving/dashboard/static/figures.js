// The figures of one moment: tiles, journal, places, drift, and what happened.

import { bars, note } from "./bars.js";
import { el, fill, table } from "./dom.js";
import { count, fixed, millis, ndcg, percent, rate, short, when, whenBriefly } from "./words.js";

export const LETTERS = { promotion: "P", rollback: "R", experiment: "E", model: "M", settings: "S", change: "C" };

export function showTiles(host, now) {
  const { traffic, totals } = now;
  const tiles = [
    ["Requests per second", rate(traffic.per_second), ""],
    ["Median time", millis(traffic.p50), traffic.p50 === null ? "" : " ms"],
    ["99% within", millis(traffic.p99), traffic.p99 === null ? "" : " ms"],
    ["What people saw", ndcg(now.shown.rankings ? now.shown.recent : null), " nDCG@10"],
    ["Rankings with feedback", percent(now.closed ? now.joined / now.closed : null), ""],
    ["Rankers behind by", count(now.lag), now.lag === 1 ? " entry" : " entries"],
    ["Failed in the last minute", count(traffic.failed), ""],
    ["Rankings stored", count(totals.rankings), ""],
  ];
  fill(host, tiles.map(([name, value, unit]) => el("dl", { class: "tile" }, el("dt", {}, name), el("dd", {}, value, el("small", {}, unit)))));
}

export function showJournal(host, now) {
  const { totals, answered } = now;
  const applied = totals.events - totals.pending - totals.late - totals.rejected;
  const kinds = [
    ["applied", applied], ["pending", totals.pending], ["late", totals.late],
    ["rejected", totals.rejected], ["duplicate", null], ["unknown_ranking", null], ["conflict", null],
  ];
  const facts = [
    ["Position", count(now.position)],
    ["Rankers behind by", count(now.lag)],
    ["Waiting for the disk", count(now.waiting)],
    ["Open rankings", count(now.open_rankings)],
    ["Closed rankings", count(totals.closed)],
    ["Examples learnt", count(totals.examples)],
    ["Closes windows", now.leads ? "this process" : "another process"],
  ];
  fill(host,
    table([{ name: "" }, { name: "", number: true }], facts),
    table([{ name: "Events" }, { name: "Journal", number: true }, { name: "This process", number: true }],
      kinds.map(([name, total]) => [name.replace("_", " "), count(total), count(answered[name] ?? 0)])),
    note(`This process counts since ${when(now.started)}. Duplicates, conflicts and events of unknown rankings are answered, but not stored.`));
}

export function showPlaces(host, now) {
  if (!now.places.length) return fill(host, note("No ranking has closed yet."));
  return fill(host,
    bars(["Place", "With feedback"], now.places.map(({ place, shown, clicked }) => ({ name: String(place), value: clicked / shown, words: percent(clicked / shown) }))),
    note(`Of ${count(now.closed)} closed rankings, from position ${count(now.since)} on${now.passed_over ? `; ${count(now.passed_over)} entries were skipped` : ""}. Position bias and quality are mixed here: items at the top are seen more, and are better.`));
}

function shiftWords({ shift, missing, was_missing, is_category }) {
  const moved = is_category ? `${percent(shift)} others` : Math.abs(shift) < 0.005 ? "0" : `${shift < 0 ? "−" : "+"}${fixed(2)(Math.abs(shift))}`;
  return Math.abs(missing - was_missing) < 0.01 ? moved : `${moved}, missing ${percent(was_missing)} → ${percent(missing)}`;
}

export function showDrift(host, now) {
  if (!now.shift_rankings) return fill(host, note("No ranking has been examined yet."));
  return fill(host,
    bars(["Feature", "Shift"], now.shifts.map((one) => ({ name: one.feature, value: one.shift, words: shiftWords(one) }))),
    note(`How far the mean of recent rankings is from the mean of all ${count(now.shift_rankings)} examined ones, in standard deviations; for categories, the share of items that have others than usual. Beyond 0.5, or if values are missing that were not, find out what changed in the source of the features.`));
}

export function showComputed(host, now) {
  const state = now.computed;
  if (!state) return fill(host, note("Callers send the features of each item; this loop computes none."));
  const sums = Object.entries(state.counters);
  return fill(host,
    table([{ name: "" }, { name: "", number: true }], [
      ["Items", count(state.items)],
      ["Users", count(state.users)],
      ["Ranked items without fields", percent(state.unknown)],
      ["Megabytes", fixed(1)(state.bytes / 1e6)],
    ]),
    sums.length ? table([{ name: "Counter" }, { name: "Keys", number: true }, { name: "Had to go", number: true }],
      sums.map(([name, one]) => [name, count(one.keys), count(one.evicted)])) : null,
    note("Catalogue and counters of this process. GET /v1/LOOP/features has every column: missing values, quantiles and changes."));
}

export function showChanges(host, past) {
  if (!past.changes.length) return fill(host, note("No weight of the champion has changed since this process started, or it has none."));
  return fill(host,
    bars(["Feature", "Before → now"], past.changes.map((change) => ({ name: change.feature, value: change.now - change.before, words: `${short(change.before)} → ${short(change.now)}` }))),
    note("Weights of the champion a day ago, or when this process started, and now."));
}

export function showMarks(host, now) {
  if (!now.marks.length) return fill(host, note("Nothing yet."));
  const rows = now.marks.toReversed().map((mark) => [el("strong", {}, LETTERS[mark.kind]), el("time", { title: when(mark.at) }, whenBriefly(mark.at)), mark.words, count(mark.position)]);
  return fill(host,
    el("div", { class: "scroll", tabindex: 0, "data-key": "marks", role: "region", "aria-label": "What happened, newest first" },
      table([{ name: "" }, { name: "When" }, { name: "What" }, { name: "Position", number: true }], rows)),
    now.since > 1 ? note(`Entries before position ${count(now.since)} were not read again when this process started.`) : null);
}
