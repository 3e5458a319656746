// One ranking, closely: what was shown and why, what people did, what every model would show now.

import { ask, loopPath } from "./api.js";
import { note } from "./bars.js";
import { byId, el, fill, table } from "./dom.js";
import { clockTime, count, figure, fixed, signed, when } from "./words.js";

export class Inspector {
  constructor(host) {
    this.search = el("input", { type: "search", name: "id", "aria-label": "Id of a ranking", placeholder: "id of a ranking", autocomplete: "off" });
    const form = el("form", { class: "row", role: "search", onsubmit: (event) => { event.preventDefault(); this.open(this.search.value.trim()); } },
      this.search, el("button", { type: "submit" }, "Show"));
    this.list = el("div");
    this.detail = el("div", { role: "region", "aria-label": "The chosen ranking", "aria-live": "polite" }, note("Choose a ranking, or type an id."));
    fill(host, el("div", { class: "two" }, el("div", {}, form, this.list), this.detail));
  }

  async refresh(loop) {
    if (this.loop !== loop) {
      this.loop = loop;
      fill(this.detail, note("Choose a ranking, or type an id."));
    }
    const { rankings } = await ask(loopPath(loop, "/rankings"));
    const heads = [{ name: "Newest rankings" }, { name: "When" }, { name: "Feedback", number: true }];
    const rows = rankings.slice(0, 50).map((ranking) => el("tr", { "aria-current": ranking.id === this.chosen ? "true" : null },
      el("td", {}, el("button", { type: "button", class: "link", "data-key": `ranking ${ranking.id}`, onclick: () => this.open(ranking.id) }, ranking.id)),
      el("td", {}, el("time", { title: when(ranking.at) }, clockTime(ranking.at))), el("td", { class: "n" }, count(ranking.events))));
    fill(this.list, rankings.length
      ? el("div", { class: "scroll", "data-key": "newest" }, table(heads, rows))
      : note("Nothing has been ranked yet."));
  }

  async open(id) {
    if (!id) return;
    this.chosen = id;
    try {
      this.#show(await ask(loopPath(this.loop, `/rankings/${encodeURIComponent(id)}`)));
      await this.refresh(this.loop);
    } catch (error) {
      fill(this.detail, el("p", { class: "wrong" }, error.message));
    }
  }

  #show(ranking) {
    const heads = [{ name: "Place", number: true }, { name: "Item" }, { name: "Score", number: true }, { name: "Why: what features add" }, { name: "What people did" }];
    const rows = ranking.items.map((item) => [
      String(item.place),
      el("span", {}, item.item, team(item.team), item.propensity === null ? "" : ` p=${fixed(2)(item.propensity)}`),
      figure(item.score),
      el("span", { class: "parts" }, item.parts.map((part) => el("span", { class: part.adds < 0 ? "down" : "up", title: part.value === null ? "missing" : typeof part.value === "string" ? part.value : `value ${figure(part.value)}` }, `${part.feature} ${signed(part.adds)}`))),
      item.events.map((event) => `${event.type}${event.value === 1 ? "" : ` ${figure(event.value)}`}`).join(", "),
    ]);
    fill(this.detail,
      el("h3", {}, ranking.id),
      el("p", {}, `Shown ${when(ranking.at)} by ${ranking.model || "another system"}, version ${count(ranking.version)}, policy ${ranking.policy}; ${ranking.state}; position ${count(ranking.position)}.`),
      el("div", { class: "across", tabindex: 0, role: "region", "aria-label": "Items as shown" }, table(heads, rows)),
      note(`${ranking.same_model ? "Contributions are those of the model that ranked." : "The model has learnt since; contributions are those of the model now."}${ranking.state === "old" ? " It closed long ago: its feedback is only in the journal." : ""}`),
      el("h3", {}, "What every model would show now"),
      this.#others(ranking));
  }

  #others(ranking) {
    const names = Object.keys(ranking.others);
    const clicked = new Set(ranking.items.filter((item) => item.events.length).map((item) => item.item));
    const cell = (item) => (clicked.has(item) ? el("strong", {}, `${item} ★`) : item ?? "");
    const rows = ranking.items.map((item, place) => [String(place + 1), cell(item.item), ...names.map((name) => cell(ranking.others[name][place]))]);
    const heads = [{ name: "Place", number: true }, { name: "Shown" }, ...names.map((name) => ({ name }))];
    return el("div", { class: "across", tabindex: 0, role: "region", "aria-label": "Orders of all models" }, table(heads, rows), note("★ got feedback."));
  }
}

function team(number) {
  if (number === null) return "";
  return number < 0 ? " (all)" : number === 0 ? " (champion)" : ` (challenger${number > 1 ? ` ${number}` : ""})`;
}

export const startInspector = () => new Inspector(byId("inspector"));
