// Reads the feed: the present state, then changes. Reports a lost connection, and loads the state again.

import { token } from "./place.js";

const UNSEEN = 60_000;
/** The time limit for the first byte of an answer, and for each further one: a long list has no overall limit. */
const SILENCE = 30_000;

export class Feed {
  /** `said` is called with `{kind: "loading" | "live" | "behind" | "broken", …}`. */
  constructor(store, said) {
    this.store = store;
    this.said = said;
    this.failures = 0;
  }

  start() {
    this.load();
    addEventListener("online", () => this.again());
    document.addEventListener("visibilitychange", () => this.seen(document.visibilityState === "visible"));
  }

  /** A hidden page disconnects: it costs the proxy nothing, and leaves the browser's six connections to other pages. */
  seen(visible) {
    clearTimeout(this.dozing);
    if (!visible) {
      this.dozing = setTimeout(() => {
        // Paused exchanges would continue without a page.
        if (this.store.rules?.breakpoints > 0) return this.seen(false);
        this.asleep = this.source !== undefined;
        if (this.asleep) this.close();
      }, UNSEEN);
    } else if (this.asleep) {
      this.asleep = false;
      this.listen(this.last);
    } else this.again();
  }

  async load() {
    this.close();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const said = (bytes) => { if (turn === this.turn) this.said({ kind: "loading", bytes }); };
    if (this.failures === 0) said();
    this.begun = performance.now();
    try {
      const links = await read("/api/links");
      const asked = Date.now();
      const exchanges = await read("/api/exchanges", said);
      if (turn !== this.turn) return;
      this.begun = undefined;
      this.store.resetLinks(links.links);
      this.store.resetExchanges(exchanges, asked);
      this.listen(links.last ?? exchanges.last);
    } catch (error) {
      if (turn === this.turn) this.broke(error.message, () => this.load(), error instanceof Silence);
    }
  }

  listen(after) {
    this.close();
    this.last = after;
    // An EventSource sends no fields. With the token in the URL, this page gets a slot even if other pages have taken theirs.
    const own = token() === undefined ? "" : `&token=${encodeURIComponent(token())}`;
    const source = new EventSource(`/api/events?after=${encodeURIComponent(after)}${own}`);
    this.source = source;
    const on = (name, act) => source.addEventListener(name, (event) => {
      if (source !== this.source) return;
      if (event.lastEventId) this.last = event.lastEventId;
      act(JSON.parse(event.data || "{}"));
    });
    source.onopen = () => {
      this.failures = 0;
      // The proxy reports rules only if there are any, or they change.
      this.store.takeRules({ rules: 0, breakpoints: 0, stubs: 0, pulled: false });
      this.said({ kind: "live" });
    };
    source.onerror = () => {
      if (source === this.source) this.broke("The connection to the inspector was lost.", () => this.listen(this.last));
    };
    on("exchanges", (data) => {
      this.store.take(data.exchanges);
      this.said({ kind: data.left > 0 ? "behind" : "live", left: data.left });
    });
    on("links", (data) => this.store.takeLinks(data.links));
    on("faults", (data) => this.store.takeRules(data));
    on("gone", (data) => this.store.removeBefore(data.before));
    on("cleared", () => this.store.removeEnded());
    on("reset", () => this.load());
  }

  /** A silent proxy is busy, so the next try waits for the user. After a long attempt, the next try waits at least twice as long. */
  broke(reason, again, isSilent = false) {
    const took = performance.now() - (this.begun ?? Infinity);
    this.close();
    this.failures += 1;
    this.next = again;
    const wait = isSilent ? Infinity : Math.max(Math.min(8000, 250 * 2 ** Math.min(this.failures, 5)), 2 * took);
    // The first failure may be temporary; it is reported when the next try fails too.
    if (this.failures > 1 || isSilent) this.said({ kind: "broken", reason, wait });
    if (!isSilent) this.timer = setTimeout(() => this.again(), wait);
  }

  /** Tries at once, if another try is scheduled. */
  again() {
    if (this.timer !== undefined) this.retry();
  }

  retry() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.next();
  }

  close() {
    this.source?.close();
    this.source = undefined;
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

/** The token, if this page has one. */
const identity = () => (token() === undefined ? {} : { "Byway-Token": token() });

/** Nothing was received for too long. */
class Silence extends Error {}

/** Loads JSON, without a limit while bytes arrive; `heard` is called now and then with the number of bytes so far. */
async function read(path, heard) {
  const control = new AbortController();
  let timer;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(new Silence(`The inspector has sent nothing for ${SILENCE / 1000} s: the proxy is busy, or hangs.`)), SILENCE);
  };
  wait();
  try {
    const response = await fetch(path, { cache: "no-store", headers: identity(), signal: control.signal });
    if (!response.ok) throw new Failed(response.status, path);
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    const parts = [];
    let total = 0;
    let told = performance.now();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      wait();
      parts.push(decoder.decode(value, { stream: true }));
      total += value.length;
      if (performance.now() - told < 1000) continue;
      told = performance.now();
      heard?.(total);
    }
    parts.push(decoder.decode());
    return JSON.parse(parts.join(""));
  } catch (error) {
    if (control.signal.aborted) throw control.signal.reason;
    if (error instanceof Failed) throw error;
    throw new Error(error instanceof SyntaxError || error instanceof RangeError ? "The inspector's answer cannot be read."
      : "The inspector does not answer: the proxy may have ended.");
  } finally {
    clearTimeout(timer);
  }
}

/** An answer with an error status. */
class Failed extends Error {
  constructor(status, path) {
    super(status === 503 ? "The inspector has reached its limit of readers: close another page of it." : `The inspector answered ${status} to ${path}.`);
    this.status = status;
  }
}

/** The source of details and bodies of exchanges: the running proxy. */
export class LiveSource {
  readonly = false;

  constructor(store) { this.store = store; }

  async detail(id) {
    try {
      return await read(`/api/exchanges/${id}`);
    } catch (error) {
      if (error.status !== 404) throw error;
      throw new Error(`There is no exchange #${id} here, or it is no longer kept.`);
    }
  }

  async body(id, side) {
    const response = await fetch(`/api/exchanges/${id}/${side}-body`, { cache: "no-store", headers: identity() }).catch(() => undefined);
    if (response === undefined) throw new Error("The inspector does not answer.");
    if (!response.ok) throw new Error("The body is no longer kept.");
    return new Uint8Array(await response.arrayBuffer());
  }
}
