// Bars beside their names; each row says its value, so that the picture is its own table.

import { el, svg, table } from "./dom.js";

// rows: {name, value, words}; values below 0 go to the left
export function bars(heads, rows) {
  const longest = Math.max(...rows.map((row) => Math.abs(row.value)), 1e-12);
  const both = rows.some((row) => row.value < 0);
  const zero = both ? 60 : 0;
  const width = both ? 60 : 120;
  return table([{ name: heads[0] }, { name: heads[1], number: true }, { name: "" }], rows.map((row) => {
    const length = (Math.abs(row.value) / longest) * width;
    const bar = svg("rect", { class: row.value < 0 ? "bar down" : "bar", x: row.value < 0 ? zero - length : zero, y: 1, width: length, height: 10 });
    return [row.name, row.words, svg("svg", { viewBox: "0 0 120 12", preserveAspectRatio: "none", height: 12, "aria-hidden": "true" }, bar, svg("line", { class: "s7", x1: zero, x2: zero, y1: 0, y2: 12 }))];
  }), { class: "bars" });
}

export const note = (words) => el("p", { class: "quiet" }, words);
