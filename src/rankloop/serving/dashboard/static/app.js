// The page: asks for a loop when the bell rings, and hands what it gets to the panels.

import { Refused, ask, keepToken, loopPath, token } from "./api.js";
import { Bell } from "./bell.js";
import { TimeChart } from "./chart.js";
import { ask as question, field } from "./dialogs.js";
import { byId, el, fill, say } from "./dom.js";
import { LETTERS, showChanges, showComputed, showDrift, showJournal, showMarks, showPlaces, showTiles } from "./figures.js";
import { startInspector } from "./inspector.js";
import { showExperiment, showModels } from "./models.js";
import { startTheme } from "./theme.js";
import { clockTime, figure, fixed, rate } from "./words.js";

// Milliseconds between two questions: after the bell, without one, and while all is quiet.
const RUNG = 1000;
const EVERY = 2000;
const QUIET = 5000;
const DRAWN = 10000; // between two drawings of the charts

const charts = {
  quality: new TimeChart(byId("quality"), { label: "Quality over time, nDCG at 10", format: fixed(3), height: 380, empty: "Curves begin once rankings with feedback have closed." }),
  traffic: new TimeChart(byId("traffic"), { label: "Requests per second over the last hour", format: (x) => rate(x), fromZero: true }),
  latency: new TimeChart(byId("latency"), { label: "Milliseconds of a ranking over the last hour", format: (x) => (x === null ? "–" : figure(x)), fromZero: true }),
  weights: new TimeChart(byId("weights"), { label: "Weights of the champion over time", format: (x) => (x === null ? "–" : figure(x)), height: 240, empty: "The champion has no weights of its own to show, or has just started." }),
};
const inspector = startInspector();
const bell = new Bell();
const state = { loop: null, asked: 0, drawn: 0, health: "", lost: null, running: false };

async function round() {
  if (state.running || document.hidden) return;
  Object.assign(state, { running: true, asked: Date.now() });
  bell.rung = false;
  try {
    await loops();
    bell.listen(state.loop);
    const now = await ask(loopPath(state.loop));
    showNow(now);
    clearTrouble();
    if (state.asked - state.drawn >= DRAWN) {
      state.drawn = state.asked;
      showPast(await ask(loopPath(state.loop, "/past")), now);
      await inspector.refresh(state.loop);
    }
  } catch (error) {
    failed(error);
  } finally {
    state.running = false;
  }
}

async function loops() {
  const { loops: all } = await ask("/dashboard/loops");
  const names = all.map((loop) => loop.name);
  const wanted = decodeURIComponent(location.hash.slice(1));
  const chosen = names.includes(wanted) ? wanted : names.includes(state.loop) ? state.loop : names[0];
  if (chosen !== state.loop) Object.assign(state, { loop: chosen, drawn: 0 });
  const words = (loop) => (loop.health.level === "good" ? loop.name : `${loop.name} (${loop.health.word})`);
  const key = JSON.stringify([all, chosen]);
  if (key === state.listed) return; // an open list must stay open
  state.listed = key;
  fill(byId("loop"), all.map((loop) => el("option", { value: loop.name, selected: loop.name === chosen }, words(loop))));
}

function showNow(now) {
  document.title = `${now.health.word} · ${now.loop} · Rankloop`;
  health(now.health);
  byId("updated").textContent = `as of ${clockTime(Date.now() / 1000)}`;
  showTiles(byId("tiles"), now);
  showModels(byId("models"), now, again);
  showExperiment(byId("experiment"), now, state.closing ?? 0, again);
  showJournal(byId("journal"), now);
  showPlaces(byId("places"), now);
  showDrift(byId("drift"), now);
  showComputed(byId("computed"), now);
  showMarks(byId("marks"), now);
}

function showPast(past, now) {
  const marks = now.marks.map((mark) => ({ at: mark.at, letter: LETTERS[mark.kind], words: mark.words }));
  const names = Object.keys(past.models);
  const models = names.map((name, i) => ({ name, slot: 1 + (i % 8), values: past.models[name].mean }));
  const compared = new Set([now.champion, ...(now.experiment?.challengers ?? []).map((challenger) => challenger.name)]);
  for (const line of models.filter((model) => compared.has(model.name))) {
    Object.assign(line, { low: past.models[line.name].low, high: past.models[line.name].high });
  }
  const shown = { name: "what people saw", slot: 0, values: past.shown.mean, low: past.shown.low, high: past.shown.high, thick: true };
  charts.quality.update({ at: past.at, lines: [shown, ...models], marks });
  const { traffic } = past;
  charts.traffic.update({ at: traffic.at, lines: [{ name: "requests", slot: 1, values: traffic.requests }, { name: "failed", slot: 8, values: traffic.failed }] });
  const millis = (values) => values.map((value) => (value === null ? null : 1000 * value));
  charts.latency.update({ at: traffic.at, lines: [{ name: "median", slot: 1, values: millis(traffic.p50) }, { name: "99% within", slot: 2, values: millis(traffic.p99) }] });
  charts.weights.update({ at: past.at, lines: past.weights.features.map((name, i) => ({ name, slot: 1 + i, values: past.weights.values[i] })), marks });
  state.closing = past.rankings.slice(-30).reduce((sum, rate) => sum + rate, 0) / Math.max(past.rankings.slice(-30).length, 1);
  showChanges(byId("changes"), past);
}

function health({ level, word, sentence }) {
  byId("health").dataset.level = level;
  byId("word").textContent = word;
  byId("sentence").textContent = sentence;
  if (state.health && state.health !== word) say(`${word}. ${sentence}`);
  state.health = word;
}

function clearTrouble() {
  state.lost = null;
  document.body.classList.remove("stale");
  byId("trouble").hidden = true;
}

function failed(error) {
  document.body.classList.add("stale");
  if (error instanceof Refused && error.status !== 401 && error.status !== 403) {
    health({ level: "bad", word: "No figures", sentence: error.message });
    return;
  }
  if (error instanceof Refused) {
    health({ level: "bad", word: "Token needed", sentence: "" });
    byId("trouble").hidden = false;
    fill(byId("trouble"), `${error.message} `, el("button", { type: "button", "data-key": "token", onclick: askToken }, "Type a token"));
    return;
  }
  state.lost ??= Date.now() / 1000;
  state.drawn = 0;
  health({ level: "bad", word: "No connection", sentence: `No answer since ${clockTime(state.lost)}; figures are as of then. Trying again every two seconds.` });
}

function again() {
  state.drawn = 0;
  bell.rung = true; // should a round be under way
  round();
}

function tick() {
  const wait = bell.rung ? RUNG : bell.open ? QUIET : EVERY;
  if (Date.now() - state.asked >= wait) round();
}

function askToken() {
  question("Token of this tab", [
    el("p", {}, "To look at a loop, you need a token with the scope metrics; to change it, one with the scope admin. The token is kept in this tab only, and forgotten when you close it. Leave it empty to forget it now."),
    field("Token", el("input", { name: "text", type: "password", value: token(), autocomplete: "off" })),
  ], "Use it", async (form) => {
    keepToken(form.text.value.trim());
    bell.hang();
    again();
  });
}

startTheme();
byId("token").addEventListener("click", askToken);
byId("loop").addEventListener("change", (event) => {
  location.hash = event.target.value;
});
addEventListener("hashchange", again);
document.addEventListener("visibilitychange", () => (document.hidden ? bell.hang() : round()));
setInterval(tick, 250);
round();
