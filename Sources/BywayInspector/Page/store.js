// The data of the feed, and derived values: rates, hosts, and the times in which a link was disconnected.

import { kind } from "./filter.js";

/** Runs for 10,000 exchanges at the first typed letter, so it makes no lists. */
function textOf(x) {
  const failure = x.failure === undefined ? "" : `${x.failure.code} ${x.failure.message ?? ""}`;
  const where = `${x.authority ?? ""} ${x.upstream ?? ""}`;
  const text = `${x.method} ${x.path} ${where} ${x.status ?? ""} ${x.type ?? ""} ${x.from ?? ""} ${x.trace ?? ""} ${failure}`;
  return (text.length > TEXT ? text.slice(0, TEXT) : text).toLowerCase();
}

const TEXT = 8192;
/** Milliseconds after which a measured rate is outdated. */
const STALE = 2500;

/** An exchange, with values that the page has derived from it. */
class ExchangeEntry {
  constructor(exchange, store) {
    this.store = store;
    this.measured = undefined;
    this.take(exchange, performance.now());
  }

  take(exchange, at) {
    const before = this.exchange;
    this.exchange = exchange;
    this.key = undefined;
    if (before === undefined || before.type !== exchange.type) this.kind = kind(exchange.type);
    this.version = (this.version ?? 0) + 1;
    const total = (exchange.responseBytes ?? 0) + (exchange.requestBytes ?? 0);
    if (exchange.state !== "running") {
      this.measured = undefined;
    } else if (before === undefined || total < this.counted) {
      this.counted = total;
      this.countedAt = at;
    } else if (at - this.countedAt >= 400) {
      const now = ((total - this.counted) * 1000) / (at - this.countedAt);
      this.measured = this.measured === undefined ? now : this.measured * 0.6 + now * 0.4;
      this.counted = total;
      this.countedAt = at;
    }
  }

  /** The present rate in bytes per second; `undefined` if no bytes arrive. */
  get rate() { return performance.now() - this.countedAt < STALE ? this.measured : undefined; }

  get id() { return this.exchange.id; }
  /** The link that it was sent on; `undefined` at a gateway, whose exchanges go to an origin. */
  get link() { return this.store?.carrierOf(this.exchange); }
  get host() { return this.exchange.authority ?? this.exchange.upstream ?? ""; }

  /** The text that a filter searches. */
  get text() {
    this.key ??= textOf(this.exchange);
    return this.key;
  }

  /** Milliseconds from the beginning to the end, or to now. */
  lasted(now) {
    const x = this.exchange;
    if (x.ended !== undefined) return x.ended;
    if (x.state === "running") return Math.max(0, now - x.begun);
    return Math.max(0, x.sent ?? 0, x.requestEnded ?? 0, x.answered ?? 0);
  }

  /** The expected milliseconds until the body is complete, if they can be estimated. */
  get left() {
    const x = this.exchange;
    const { rate } = this;
    if (x.state !== "running" || !rate) return undefined;
    const missing = x.answered === undefined
      ? (x.requestLength ?? 0) - (x.requestBytes ?? 0)
      : (x.length ?? 0) - (x.responseBytes ?? 0);
    return missing > 0 ? (missing * 1000) / rate : undefined;
  }
}

const SAMPLES = 300;
const EVENTS = 200;

export class Store {
  constructor() {
    this.entries = new Map();
    this.links = new Map();
    this.limits = undefined;
    this.skew = 0;
    /** The actions of the inspector. */
    this.can = new Set(["resend"]);
    this.listeners = new Set();
  }

  /** The proxy's clock. */
  get now() { return this.stopped ?? Date.now() + this.skew; }

  changed(what) {
    for (const listener of this.listeners) listener(what);
  }

  /** A time reported by the proxy is in the past, so its clock is ahead at least by the difference. */
  heard(time) {
    this.skew = Math.max(this.skew, time - Date.now());
  }

  /** `asked` is the time of the request: if the proxy's time is between that and now, the clocks count as equal. */
  resetExchanges({ exchanges, limits, now, can }, asked = Date.now()) {
    if (now !== undefined) this.skew = now <= Date.now() && now >= asked ? 0 : now - Date.now();
    this.limits = limits;
    const before = this.entries;
    this.entries = new Map();
    for (const exchange of exchanges) {
      const known = before.get(exchange.id);
      if (known && known.exchange.begun === exchange.begun) {
        known.take(exchange, performance.now());
        this.entries.set(exchange.id, known);
      } else {
        this.entries.set(exchange.id, new ExchangeEntry(exchange, this));
      }
    }
    if (can !== undefined) this.can = new Set(can);
    this.changed("can");
    this.changed("exchanges");
  }

  take(exchanges) {
    const at = performance.now();
    let last = [...this.entries.keys()].at(-1) ?? 0;
    let isOrdered = true;
    for (const exchange of exchanges) {
      this.heard(exchange.begun + (exchange.ended ?? exchange.answered ?? exchange.sent ?? 0));
      const known = this.entries.get(exchange.id);
      if (known) known.take(exchange, at);
      else {
        this.entries.set(exchange.id, new ExchangeEntry(exchange, this));
        isOrdered = isOrdered && exchange.id > last;
        last = exchange.id;
      }
    }
    // They arrive in the order of their changes.
    if (!isOrdered) this.entries = new Map([...this.entries].sort(([a], [b]) => a - b));
    this.changed("exchanges");
  }

  /** The numbers of rules in force: `{rules, breakpoints, stubs, pulled}`. */
  takeRules(rules) {
    this.rules = rules;
    this.changed("rules");
  }

  /** The paused exchanges, the one that continues first at the beginning. */
  get paused() {
    const all = [...this.entries.values()].map((entry) => entry.exchange).filter((x) => x.state === "running" && x.paused !== undefined);
    return all.sort((a, b) => a.paused.until - b.paused.until);
  }

  removeBefore(id) {
    // They are in order of their ids.
    for (const known of this.entries.keys()) {
      if (known >= id) break;
      if (this.entries.get(known).exchange.state !== "running") this.entries.delete(known);
    }
    this.changed("exchanges");
  }

  removeEnded() {
    for (const [id, entry] of this.entries) {
      if (entry.exchange.state !== "running") this.entries.delete(id);
    }
    this.changed("exchanges");
  }

  resetLinks(links) {
    this.links = new Map(links.map((link) => [link.name, { samples: [], events: [], ...link }]));
    this.changed("links");
  }

  /** Adds new samples and events, and replaces the other data. */
  takeLinks(links) {
    for (const link of links) {
      const known = this.links.get(link.name) ?? { samples: [], events: [] };
      const last = known.samples.at(-1)?.[0] ?? -Infinity;
      this.links.set(link.name, {
        ...link,
        samples: known.samples.concat((link.samples ?? []).filter((sample) => sample[0] > last)).slice(-SAMPLES),
        said: together(known.said ?? [], link.said).slice(-EVENTS),
        events: together(known.events, link.events).slice(-EVENTS),
      });
    }
    this.changed("links");
  }

  /** The rate of its line in bytes per second, if it has one. */
  lineRate(exchange) {
    const line = this.linkOf(exchange)?.line;
    return line?.rate ?? line?.nominal;
  }

  carrierOf({ upstream }) {
    return upstream === undefined ? undefined : [...this.links.values()].find((link) => link.upstream === upstream);
  }

  linkOf(exchange) {
    return this.carrierOf(exchange)
      ?? (this.links.size === 1 ? this.links.values().next().value : undefined);
  }
}

/** Joins events without duplicates: the initial state and later changes may overlap. */
function together(known, told = []) {
  const same = (a, b) => a.at === b.at && a.kind === b.kind;
  return known.concat(told.filter((event) => !known.some((one) => same(one, event))));
}

/** The times in which a link was disconnected, from its events: `[{from, to, reason}]`. */
export function gaps(link, now) {
  const found = [];
  let open;
  for (const event of link.events ?? []) {
    if (event.kind === "interrupted" || event.kind === "lost") open ??= event;
    else if (open && (event.kind === "resumed" || event.kind === "opened")) {
      found.push({ from: open.at, to: event.at, reason: open.reason, link: link.name });
      open = undefined;
    } else if (event.kind === "closed") open = undefined;
  }
  // A closed link that is not needed has no gap.
  if (open && ["interrupted", "opening", "down", "refused", "waiting"].includes(link.state)) found.push({
    from: open.at, to: now, reason: open.reason, link: link.name,
  });
  return found;
}
