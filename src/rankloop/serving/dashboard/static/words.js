// Numbers and times as people read them.

const NONE = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (n) => (n === null || n === undefined ? NONE : whole.format(n));
export const fixed = (digits) => (x) => (x === null || x === undefined ? NONE : x.toFixed(digits));
export const ndcg = fixed(3);
export const percent = (x) => (x === null || x === undefined || Number.isNaN(x) ? NONE : `${(100 * x).toFixed(1)}%`);
export const rate = (x) => (x === null ? NONE : x === 0 ? "0" : x >= 100 ? whole.format(x) : x.toFixed(x >= 10 ? 1 : 2));
export const signed = (x) => `${x < 0 ? "−" : "+"}${figure(Math.abs(x))}`;

export function figure(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1000) return whole.format(x);
  return size >= 0.001 ? String(Number(x.toPrecision(3))) : x.toExponential(1);
}

export const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 0.01 ? String(Number(x.toPrecision(2))) : x.toExponential(0));

export function millis(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const ms = 1000 * seconds;
  return ms >= 100 ? whole.format(ms) : ms.toFixed(1);
}

const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const forms = {
  second: new Intl.DateTimeFormat("en", { ...clock, second: "2-digit" }),
  minute: new Intl.DateTimeFormat("en", clock),
  day: new Intl.DateTimeFormat("en", { day: "numeric", month: "short" }),
  all: new Intl.DateTimeFormat("en", { ...clock, month: "short", day: "numeric", second: "2-digit" }),
};

const brief = new Intl.DateTimeFormat("en", { ...clock, month: "short", day: "numeric" });
export const whenBriefly = (at) => brief.format(1000 * at);
export const when = (at) => forms.all.format(1000 * at);
export const clockTime = (at) => forms.second.format(1000 * at);

// How to write times on an axis that spans so many seconds.
export function axisTime(span) {
  const form = span < 600 ? forms.second : span < 2.5 * 86400 ? forms.minute : forms.day;
  return (at) => form.format(1000 * at);
}

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}
