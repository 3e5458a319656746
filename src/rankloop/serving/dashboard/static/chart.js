// Lines over time, drawn as SVG: bands, marks, a cross hair for mouse and keys, and a table.

import { el, fill, svg, table } from "./dom.js";
import { extent, roundSteps, scale, timeSteps } from "./scales.js";
import { axisTime, when } from "./words.js";

const TABLE_ROWS = 24;

export class TimeChart {
  constructor(host, { label, format, height = 220, fromZero = false, empty = "Nothing yet." }) {
    Object.assign(this, { label, format, height, fromZero, empty, host });
    this.svg = svg("svg", { role: "img", tabindex: 0, height });
    this.reading = el("p", { class: "reading" });
    this.legend = el("ul", { class: "legend" });
    this.rows = el("div");
    this.details = el("details", { ontoggle: () => this.#table() }, el("summary", {}, "Table"), this.rows);
    host.classList.add("chart");
    host.replaceChildren(this.svg, this.legend, this.reading, this.details);
    this.svg.addEventListener("pointermove", (event) => this.#point(event));
    this.svg.addEventListener("pointerleave", () => this.#read(null));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("blur", () => this.#read(null));
    new ResizeObserver(() => this.#draw()).observe(host);
    this.update({ at: [], lines: [] });
  }

  // at: seconds; lines: {name, slot, values, low, high, thick}; marks: {at, letter, words}
  update({ at, lines, marks = [] }) {
    Object.assign(this, { at, lines, marks });
    this.#draw();
    this.#table();
  }

  #draw() {
    const width = this.host.clientWidth || 600;
    const labelled = width > 520;
    const right = width - (labelled ? 146 : 12);
    const [left, top, bottom] = [46, 20, this.height - 22];
    const known = extent(this.lines.flatMap((line) => [line.values, line.low, line.high]));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.svg.setAttribute("aria-label", this.#summary());
    fill(this.legend, labelled ? [] : this.lines.map(legend));
    if (!known || this.at.length < 2) {
      this.x = null;
      this.svg.replaceChildren(svg("text", { x: 8, y: this.height / 2 }, this.empty));
      return;
    }
    let [low, high] = known;
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    [low, high] = this.fromZero ? [0, high + room] : [low - room, high + room];
    const x = scale(this.at[0], this.at.at(-1), left, right);
    const y = scale(low, high, bottom, top);
    this.x = x;
    this.cross = svg("line", { class: "cross", y1: top, y2: bottom, visibility: "hidden" });
    const time = axisTime(this.at.at(-1) - this.at[0]);
    this.svg.replaceChildren(
      ...roundSteps(low, high, 4).flatMap((value) => [
        svg("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }),
        svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, this.format(value)),
      ]),
      ...timeSteps(this.at[0], this.at.at(-1), Math.max(4, width / 110)).map((at) =>
        svg("text", { x: x(at), y: this.height - 5, "text-anchor": "middle" }, time(at))),
      ...this.lines.filter((line) => line.low).map((line) => svg("path", { class: `band s${line.slot}`, d: this.#band(line, x, y) })),
      ...this.#flags(x, top, bottom),
      ...this.lines.map((line) => svg("path", { class: `line s${line.slot}${line.thick ? " thick" : ""}`, d: this.#path(line.values, x, y) })),
      ...(labelled ? this.#names(y, right, top, bottom) : []),
      this.cross,
    );
  }

  #path(values, x, y) {
    let pen = "M";
    let path = "";
    values.forEach((value, i) => {
      if (value === null) pen = "M";
      else {
        path += `${pen}${x(this.at[i]).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      }
    });
    return path;
  }

  #band({ low, high }, x, y) {
    let path = "";
    let run = [];
    const close = () => {
      if (run.length > 1) {
        const there = run.map((i) => `${x(this.at[i]).toFixed(1)} ${y(high[i]).toFixed(1)}`);
        const back = run.toReversed().map((i) => `${x(this.at[i]).toFixed(1)} ${y(low[i]).toFixed(1)}`);
        path += `M${[...there, ...back].join("L")}Z`;
      }
      run = [];
    };
    low.forEach((value, i) => (value === null ? close() : run.push(i)));
    close();
    return path;
  }

  #flags(x, top, bottom) {
    const seen = this.marks.filter((mark) => mark.at >= this.at[0] && mark.at <= this.at.at(-1)).slice(-16);
    const weighty = (mark) => "PR".includes(mark.letter);
    const lettered = [];
    const hasRoom = (place) => lettered.every((other) => Math.abs(other - place) > 17); // no letter on another
    return seen.toSorted((a, b) => weighty(b) - weighty(a)).map((mark) => {
      const place = x(mark.at);
      const room = hasRoom(place);
      if (room) lettered.push(place);
      return svg("g", {},
        svg("title", {}, `${when(mark.at)}: ${mark.words}`),
        svg("line", { class: "mark", x1: place, x2: place, y1: top, y2: bottom }),
        room ? svg("circle", { class: "flag", cx: place, cy: top - 9, r: 8 }) : null,
        room ? svg("text", { class: "letter", x: place, y: top - 5 }, mark.letter) : null);
    });
  }

  #names(y, right, top, bottom) {
    const ends = this.lines
      .map((line) => ({ line, at: line.values.findLast((value) => value !== null) }))
      .filter((end) => end.at !== undefined)
      .map((end) => ({ ...end, place: y(end.at) }))
      .sort((a, b) => a.place - b.place);
    for (let i = 0; i < ends.length; i += 1) ends[i].place = Math.max(ends[i].place, i ? ends[i - 1].place + 14 : top);
    for (let i = ends.length - 1, floor = bottom; i >= 0; i -= 1, floor -= 14) ends[i].place = Math.min(ends[i].place, floor);
    return ends.flatMap(({ line, place }) => [
      svg("line", { class: `line s${line.slot}${line.thick ? " thick" : ""}`, x1: right + 6, x2: right + 24, y1: place, y2: place }),
      svg("text", { x: right + 28, y: place + 4 }, svg("title", {}, line.name), shorter(line.name)),
    ]);
  }

  #summary() {
    const now = this.lines.map((line) => `${line.name} ${this.format(line.values.findLast((value) => value !== null) ?? null)}`);
    return `${this.label}. Now: ${now.join(", ") || "nothing yet"}. Arrow keys read values; a table follows.`;
  }

  #point(event) {
    if (!this.x) return;
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.svg.viewBox.baseVal.width;
    let best = 0;
    this.at.forEach((at, i) => {
      if (Math.abs(this.x(at) - x) < Math.abs(this.x(this.at[best]) - x)) best = i;
    });
    this.#read(best);
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || !this.x) return;
    event.preventDefault();
    const from = this.index ?? (step < 0 ? this.at.length : -1);
    this.reading.setAttribute("aria-live", "polite");
    this.#read(Math.min(Math.max(from + step, 0), this.at.length - 1));
  }

  #read(index) {
    this.index = index;
    if (index === null || !this.x) {
      this.reading.textContent = "";
      this.reading.removeAttribute("aria-live");
      this.cross?.setAttribute("visibility", "hidden");
      return;
    }
    const x = this.x(this.at[index]);
    for (const end of ["x1", "x2"]) this.cross.setAttribute(end, x);
    this.cross.setAttribute("visibility", "visible");
    const values = this.lines.map((line) => `${line.name} ${this.format(line.values[index])}`);
    this.reading.textContent = `${when(this.at[index])}: ${values.join(", ")}`;
  }

  #table() {
    if (!this.details.open) return;
    const step = Math.max(1, Math.floor(this.at.length / TABLE_ROWS));
    const picked = this.at.map((_, i) => i).filter((i) => (this.at.length - 1 - i) % step === 0).reverse();
    const heads = [{ name: "Time" }, ...this.lines.map((line) => ({ name: line.name, number: true }))];
    const rows = picked.map((i) => [when(this.at[i]), ...this.lines.map((line) => this.format(line.values[i]))]);
    fill(this.rows, el("div", { class: "scroll", tabindex: 0, "data-key": "rows", role: "region", "aria-label": `Table: ${this.label}` }, table(heads, rows)));
  }
}

function legend(line) {
  const stroke = svg("line", { class: `line s${line.slot}`, x1: 0, x2: 24, y1: 6, y2: 6, "stroke-width": line.thick ? 4 : 2 });
  return el("li", {}, svg("svg", { viewBox: "0 0 24 12", "aria-hidden": "true" }, stroke), line.name);
}

const shorter = (name) => (name.length > 17 ? `${name.slice(0, 16)}…` : name);
