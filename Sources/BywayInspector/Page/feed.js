// Reads the feed: what there is, then what happens. Says when it has lost something, and gets it again.

import { token } from "./place.js";

const UNSEEN = 60_000;
/** For the first byte of an answer, and for each next one: a long list takes as long as it takes. */
const SILENCE = 30_000;

export class Feed {
  /** `said` is told `{kind: "loading" | "live" | "behind" | "broken", …}`. */
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

  /** A page that nobody looks at costs the proxy nothing, and leaves the browser's six connections to others. */
  seen(visible) {
    clearTimeout(this.dozing);
    if (!visible) {
      this.dozing = setTimeout(() => {
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
    // An EventSource sends no fields. With its token, this page has a place also where others have taken theirs.
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
      this.said({ kind: "live" });
    };
    source.onerror = () => {
      if (source === this.source) this.broke("The connection to the inspector broke.", () => this.listen(this.last));
    };
    on("exchanges", (data) => {
      this.store.take(data.exchanges);
      this.said({ kind: data.left > 0 ? "behind" : "live", left: data.left });
    });
    on("links", (data) => this.store.takeLinks(data.links));
    on("gone", (data) => this.store.forgetBefore(data.before));
    on("cleared", () => this.store.forgetEnded());
    on("reset", () => this.load());
  }

  /** Who is silent has enough to do, and is asked again only where somebody says so; who was busy for long is left in peace as long. */
  broke(reason, again, isSilent = false) {
    const took = performance.now() - (this.begun ?? Infinity);
    this.close();
    this.failures += 1;
    this.next = again;
    const wait = isSilent ? Infinity : Math.max(Math.min(8000, 250 * 2 ** Math.min(this.failures, 5)), 2 * took);
    // One failure may be a passing one; it is told when the next try has failed as well.
    if (this.failures > 1 || isSilent) this.said({ kind: "broken", reason, wait });
    if (!isSilent) this.timer = setTimeout(() => this.again(), wait);
  }

  /** Now, where another try is due. */
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

/** The token, where this page has one. */
const identity = () => (token() === undefined ? {} : { "Byway-Token": token() });

/** Nothing came for too long. */
class Silence extends Error {}

/** JSON, however long it takes while something comes; `heard` is told how many bytes have come, now and then. */
async function read(path, heard) {
  const control = new AbortController();
  let timer;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(new Silence(`The inspector has sent nothing for ${SILENCE / 1000} s: the proxy has much to do, or hangs.`)), SILENCE);
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
    throw new Error(error instanceof SyntaxError || error instanceof RangeError ? "What the inspector has sent cannot be read."
      : "The inspector does not answer: the proxy may have ended.");
  } finally {
    clearTimeout(timer);
  }
}

/** It has answered that it does not. */
class Failed extends Error {
  constructor(status, path) {
    super(status === 503 ? "The inspector has as many readers as it can serve: close another page of it." : `The inspector answered ${status} to ${path}.`);
    this.status = status;
  }
}

/** What is known of one exchange, and its bodies, of the running proxy. */
export class LiveSource {
  readonly = false;

  constructor(store) { this.store = store; }

  async detail(id) {
    try {
      return await read(`/api/exchanges/${id}`);
    } catch (error) {
      if (error.status !== 404) throw error;
      throw new Error(`There is no exchange #${id} here, or it is not kept any more.`);
    }
  }

  async body(id, side) {
    const response = await fetch(`/api/exchanges/${id}/${side}-body`, { cache: "no-store", headers: identity() }).catch(() => undefined);
    if (response === undefined) throw new Error("The inspector does not answer.");
    if (!response.ok) throw new Error("The body is not kept any more.");
    return new Uint8Array(await response.arrayBuffer());
  }
}
