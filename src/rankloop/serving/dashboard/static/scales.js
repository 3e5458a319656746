// From values to places on a chart, and round numbers for its axes.

export function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

export function roundSteps(low, high, about) {
  const raw = (high - low) / Math.max(about, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const ticks = [];
  for (let i = first; i * step <= high + step * 1e-9; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2419200];

export function timeSteps(low, high, about) {
  const raw = (high - low) / Math.max(about, 1);
  const step = TIMES.find((time) => time >= raw) ?? TIMES.at(-1);
  const shift = new Date(1000 * high).getTimezoneOffset() * 60;
  const ticks = [];
  for (let at = Math.ceil((low - shift) / step) * step + shift; at <= high; at += step) ticks.push(at);
  return ticks;
}

export function extent(rows) {
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    for (const value of row ?? []) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? null : [low, high];
}
