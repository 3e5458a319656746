// Asks the service, with the token that the person typed; it stays in this tab.

const KEY = "rankloop token";

export const token = () => sessionStorage.getItem(KEY) ?? "";

export function keepToken(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

export const headers = () => (token() ? { authorization: `Bearer ${token()}` } : {});

export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

export async function ask(path, body, signal = AbortSignal.timeout(10000)) {
  const options = { headers: headers(), signal, cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  const response = await fetch(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.detail ?? response.statusText);
  return answer;
}

export const loopPath = (loop, rest = "") => `/dashboard/loops/${encodeURIComponent(loop)}${rest}`;
export const actPath = (loop, rest) => `/v1/${encodeURIComponent(loop)}/${rest}`;
