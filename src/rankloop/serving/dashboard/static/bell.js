// Rings when something changes in a loop: the service's events, read as they come. Messages are
// not taken apart; whoever hears the bell asks for what it needs. A hidden tab lets go of the line.

import { actPath, headers } from "./api.js";

const AGAIN = 2000; // milliseconds before the line is tried again

export class Bell {
  open = false;
  rung = false;

  listen(loop) {
    if (loop === this.loop && !document.hidden) return;
    this.hang();
    if (document.hidden) return;
    this.loop = loop;
    this.line = new AbortController();
    this.#stay(loop, this.line.signal);
  }

  hang() {
    this.line?.abort();
    Object.assign(this, { open: false, loop: null });
  }

  async #stay(loop, signal) {
    while (!signal.aborted) {
      try {
        await this.#read(loop, signal);
      } catch {
        // no answer, or no longer wanted; figures are asked for every two seconds meanwhile
      }
      if (signal.aborted) return;
      Object.assign(this, { open: false, rung: true });
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  }

  async #read(loop, signal) {
    const response = await fetch(actPath(loop, "events"), { headers: headers(), signal });
    if (!response.ok) return;
    this.open = true;
    const words = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await words.read(); !part.done; part = await words.read()) {
      if (!part.value.startsWith(":")) this.rung = true; // else it only says that it is still there
    }
  }
}
