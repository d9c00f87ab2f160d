// One exchange: its request and response, its outcome, and its times.

import { BodyView, charsetOf } from "./body.js";
import { h, replace, setText } from "./dom.js";
import { bytes, clock, count, duration, line, number, plain, rate, word } from "./format.js";
import { Messages } from "./messages.js";
import { PauseBar } from "./pause.js";
import { phases, phaseTitle } from "./waterfall.js";

const ANSWERERS = { cache: "the cache", proxy: "the proxy itself" };
const CACHED = {
  hit: "hit", revalidated: "asked the origin, which had nothing newer", stale: "stale: the origin could not be asked", miss: "miss",
};
const TABS = ["Overview", "Request", "Response", "Messages"];

export class Detail {
  /** `acts` has `close()`, `open(id)`, `actions(detail)`, which returns buttons, and `pause`, the actions for a `PauseBar`. */
  constructor(panel, acts) {
    this.panel = panel;
    this.acts = acts;
    this.tab = "Overview";
    this.bodies = [];
    this.title = h("h2", { tabindex: -1 });
    this.state = h("p", { class: "state" });
    this.pause = new PauseBar(acts.pause);
    this.tools = h("div", { class: "tools actions" });
    this.tabs = h("div", {
      role: "tablist", class: "tabs", "aria-label": "Parts of the exchange", onkeydown: (event) => this.key(event),
    },
      TABS.map((tab) => h(
        "button",
        { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": "part", onclick: () => this.show(tab), text: tab },
      )));
    this.part = h("div", { role: "tabpanel", id: "part", class: "part", tabindex: 0 });
    replace(panel, h("header", {},
      h(
        "div", { class: "titles" }, this.title,
        h(
          "button",
          {
            type: "button", class: "close", "aria-label": "Close", title: "Close (Escape)", onclick: () => acts.close(), text: "✕",
          },
        ),
      ),
      this.state, this.pause.element, this.tools, this.tabs), this.part);
  }

  /** Shows the data of the list at once, and the rest when it has been loaded. */
  async open(id, source, store) {
    const other = this.id !== id || this.source !== source;
    Object.assign(this, { id, source, store });
    if (other) {
      this.detail = undefined;
      this.version = store.entries.get(id)?.version;
      this.part.scrollTop = 0;
    }
    this.head();
    await this.load(other);
  }

  async load(fresh = false) {
    const { id, source } = this;
    this.loading = true;
    this.loadedAt = performance.now();
    try {
      const detail = await source.detail(id);
      if (id !== this.id || source !== this.source) return;
      this.error = undefined;
      this.refresh(detail, fresh);
    } catch (error) {
      if (id !== this.id) return;
      this.error = error.message;
      if (!this.detail) replace(this.part, h("p", { class: "quiet", text: this.error }));
    } finally {
      this.loading = false;
      this.took = performance.now() - this.loadedAt;
    }
  }

  refresh(detail, fresh) {
    const before = this.detail;
    this.detail = detail;
    this.head();
    // A body that the user reads is not redrawn while only messages and times change.
    const same = !fresh && before && this.drawn === this.tab && before.state === detail.state && before.status === detail.status;
    if (same && this.tab === "Messages" && this.messages) this.messages.take(detail.messages ?? []);
    else if (!same || this.tab === "Overview") this.draw();
  }

  /** The feed has reported a change. */
  changed() {
    if (this.id === undefined) return;
    const known = this.store.entries.get(this.id);
    // The user continues where the exchange is, when its buttons disappear.
    if (this.pause.show(known?.exchange, this.store.now)) this.title.focus({ preventScroll: true });
    if (this.loading) return;
    if (!known || !this.detail || known.version === this.version) return;
    // Loading many messages is slow: it takes at most a tenth of the time.
    const wait = known.exchange.state === "running" ? Math.max(700, this.took * 10) : 0;
    if (performance.now() - this.loadedAt < wait) return;
    this.version = known.version;
    this.load();
  }

  entry() { return this.store.entries.get(this.id); }

  head() {
    const x = this.detail ?? this.entry()?.exchange;
    this.tabs.hidden = !x;
    if (!x) return setText(this.title, `#${this.id}`);
    setText(this.title, `${line(x.method ?? "", 20)} ${line(x.path ?? "", 400)}`);
    this.title.title = line(x.path ?? "", 2000);
    const paused = x.state === "running" && this.entry()?.exchange.paused;
    this.pause.show(this.entry()?.exchange, this.store.now);
    const status = paused ? `paused at the ${paused.at}` : x.state === "failed" ? `failed: ${line(x.failure?.code ?? "", 60)}` : x.status ?? "no answer yet";
    setText(
      this.state,
      [
        `#${x.id}`, line(x.authority ?? "", 80), status, x.type && line(x.type, 60), clock(x.begun),
      ].filter(Boolean).join("  ·  "),
    );
    this.state.dataset.state = x.failure?.code === "cancelled" ? "left" : x.state === "failed" ? "failed" : x.state === "running" ? "running" : String(Math.floor((x.status ?? 0) / 100));
    if (this.detail && this.toolsFor !== this.id) {
      this.toolsFor = this.id;
      replace(this.tools, this.acts.actions(this));
    }
    for (const tab of this.tabs.children) {
      const on = tab.textContent.startsWith(this.tab);
      tab.setAttribute("aria-selected", on);
      tab.tabIndex = on ? 0 : -1;
      if (tab.id === "tab-Messages") tab.hidden = !this.detail?.messages?.length && this.tab !== "Messages";
    }
    this.part.setAttribute("aria-labelledby", `tab-${this.tab}`);
  }

  show(tab) {
    this.tab = tab;
    this.head();
    this.part.scrollTop = 0;
    if (this.detail) this.draw();
  }

  key(event) {
    const tabs = [...this.tabs.children].filter((tab) => !tab.hidden);
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    this.show(tab.id.slice(4));
    tab.focus();
  }

  draw() {
    for (const body of this.bodies) body.release();
    this.bodies = [];
    this.messages = undefined;
    const { detail: x } = this;
    const now = this.store.now;
    this.drawn = this.tab;
    if (this.tab === "Overview") return replace(this.part, this.overview(x, now));
    if (this.tab === "Messages") {
      this.messages = new Messages(x);
      this.messages.take(x.messages ?? []);
      return replace(this.part, this.messages.element);
    }
    replace(this.part, this.tab === "Request" ? this.request(x) : this.response(x));
  }

  overview(x, now) {
    const entry = this.entry();
    return [
      x.failure && failure(x.failure),
      entry && timing(entry, now),
      x.meanwhile?.length > 0 ? meanwhile(x.meanwhile, this.acts)
        : x.behind?.length > 0 && h("p", {}, "When it was sent, the link was busy with ", links(x.behind, this.acts), "."),
      facts([
        ["Asked", `${x.method} ${x.scheme ?? "http"}://${x.authority ?? ""}${x.path}`],
        ["Status", x.status], ["Listener", x.listener], ["User", x.user], ["Version", x.version], ["Sent to", x.upstream],
        ["Answered by", word(ANSWERERS, x.from)], ["Cache", word(CACHED, x.cache)],
        ["Sent", x.attempts > 1 && `${x.attempts} times`],
        ["Repeats", x.resends !== undefined && links([x.resends], this.acts)],
        ["Request body", x.requestBytes > 0 && `${bytes(x.requestBytes)}${x.requestType ? ` of ${x.requestType}` : ""}`],
        [
          "Response body",
          x.responseBytes > 0 && `${bytes(x.responseBytes)}${x.length > x.responseBytes ? ` of ${bytes(x.length)}` : ""}`,
        ],
        ["Saved", saved(x, this.store.lineRate(x))],
        ["Mean rate", meanRate(x)], ["Begun", `${new Date(x.begun).toLocaleString()} (${clock(x.begun)})`], ["Trace", x.trace],
      ]),
      table("Notes of plugins", (x.notes ?? []).map(({ plugin, text }) => [plugin, text])),
    ];
  }

  request(x) {
    const query = pairs((x.path ?? "").split("?").slice(1).join("?").split("#")[0], "&");
    const cookies = (x.requestFields ?? []).filter((field) => is(field, "cookie") && field.value).flatMap((field) => pairs(field.value, ";"));
    const form = /^application\/x-www-form-urlencoded/i.test(x.requestType ?? "") && x.requestBody;
    const formPlace = form && h("div");
    if (form) {
      this.source.body(x.id, "request").then((body) => replace(
        formPlace, table("Form", pairs(new TextDecoder().decode(body), "&")),
      )).catch(() => {});
    }
    return [
      fields("Fields", x.requestFields), table("Query", query), table("Cookies", cookies), formPlace,
      this.body("Request body", x.requestBody, x.requestBytes, x.requestFields, "request"),
    ];
  }

  response(x) {
    const cookies = (x.responseFields ?? []).filter((field) => is(field, "set-cookie") && field.value).map((field) => {
      const [first, ...rest] = field.value.split(";");
      const at = first.indexOf("=");
      return [
        first.slice(0, Math.max(0, at)).trim(), [first.slice(at + 1).trim(), ...rest.map((part) => part.trim())].join("; "),
      ];
    });
    return [
      x.failure && failure(x.failure),
      x.status === undefined && !x.failure && h("p", { class: "quiet", text: "No answer yet." }),
      fields("Fields", x.responseFields), table("Cookies set", cookies), fields("Trailers", x.trailers),
      this.body("Response body", x.responseBody, x.responseBytes, x.responseFields, "response"),
    ];
  }

  body(title, kept, total, fields, side) {
    const facts = kept && { charset: charsetOf(fields), ...kept };
    const view = new BodyView({ title, facts, total, load: () => this.source.body(this.id, side) });
    this.bodies.push(view);
    return view.element;
  }

  close() {
    for (const body of this.bodies) body.release();
    this.bodies = [];
    this.id = undefined;
    this.detail = undefined;
    this.toolsFor = undefined;
    this.part.replaceChildren();
  }
}

const is = (field, name) => field.name.toLowerCase() === name;

/** The failure, where it occurred, and advice. */
export function failure({ code, party, message, advice }) {
  return h("div", { class: "failure", role: "note" },
    h("p", {}, h("strong", { text: line(message ?? "It failed.", 2000) })),
    advice && h("p", { text: plain(advice, 4000) }),
    h("p", { class: "quiet", text: [code && line(code, 60), party && `at ${line(party, 60)}`].filter(Boolean).join(", ") }));
}

function timing(entry, now) {
  const all = phases(entry, now);
  const whole = Math.max(0.01, entry.lasted(now));
  return h("section", { class: "timing", "aria-label": "Times" },
    h("h3", { text: entry.exchange.state === "running" ? `Running for ${duration(whole)}` : `Took ${duration(whole)}` }),
    h("div", { class: "table", role: "table", "aria-label": "Phases" }, all.map((phase) => {
      const bar = h("span", { class: `phase phase-${phase.name}` });
      bar.style.marginLeft = `${(phase.from / whole) * 100}%`;
      bar.style.width = `max(2px, ${((phase.to - phase.from) / whole) * 100}%)`;
      return h("div", { role: "row", class: "phase-row" }, h("span", { role: "rowheader", text: phaseTitle(phase.name) }),
        h("span", { role: "cell", class: "track", "aria-hidden": "true" }, bar),
        h("span", { role: "cell", class: "amount", text: duration(phase.to - phase.from) }));
    })));
}

/** The exchanges that used the link while this one waited for its answer. */
function meanwhile(others, acts) {
  return h("p", {}, "Until its answer came, the link carried ", others.flatMap(({ id, bytes: count }, index) => [
    index > 0 && ", ", `${bytes(count)} of `, links([id], acts),
  ]), ".");
}

/** The bytes that a cache or compression has saved on the link, and the time that they would have taken. */
export function saved(x, linkRate) {
  if (x.state === "running" || x.carriedBytes === undefined) return undefined;
  const less = x.responseBytes - x.carriedBytes;
  if (less <= 0) return undefined;
  const how = x.from === "cache" ? "from the cache" : x.carriedBytes > 0 ? "compressed on the link" : undefined;
  if (how === undefined) return undefined;
  const time = linkRate > 0 ? `, ${duration((less / linkRate) * 1000)} at ${rate(linkRate)}` : "";
  return `${bytes(less)} ${how}${time}`;
}

function meanRate(x) {
  if (!(x.responseBytes > 0) || x.answered === undefined || x.ended === undefined) return undefined;
  const ms = x.ended - x.answered;
  // A response that came in one piece has no rate.
  return ms >= 50 && x.responseBytes >= 4096 ? rate((x.responseBytes * 1000) / ms) : undefined;
}

export function links(ids, acts) {
  return ids.flatMap((id, index) => [
    index > 0 && ", ",
    h("button", { type: "button", class: "link", onclick: () => acts.open(id), text: `#${number(id).replaceAll(",", "")}` }),
  ]);
}

function facts(rows) {
  const shown = rows.filter(([, value]) => value !== undefined && value !== false && value !== "");
  return h("dl", { class: "facts" }, shown.map(([name, value]) => h("div", {}, h("dt", { text: name }),
    h("dd", {}, typeof value === "object" ? value : plain(String(value), 4000)))));
}

/** `name=value` pairs, decoded if possible. */
function pairs(text, separator) {
  const decode = (part) => {
    const spaced = separator === "&" ? part.replaceAll("+", " ") : part;
    try { return decodeURIComponent(spaced); } catch { return spaced; }
  };
  return text.split(separator).map((pair) => pair.trim()).filter(Boolean).slice(0, 500).map((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))];
  });
}

function table(title, rows) {
  if (rows.length === 0) return undefined;
  return h("section", {}, h("h3", { text: `${title} (${rows.length})` }), h("table", { class: "pairs", "aria-label": title }, h("tbody", {}, rows.map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row", text: line(name, 300) }), h("td", { text: plain(value, 8192) }))))));
}

const MARKS = { added: "added by this hop", changed: "changed by this hop", removed: "removed by this hop" };

/** Fields in order. Changes by this hop are marked by a word, not only by colour. */
export function fields(title, list) {
  if (!list?.length) return undefined;
  return h("section", {}, h("h3", { text: `${title} (${list.length})` }), h("table", { class: "pairs fields", "aria-label": title }, h("tbody", {}, list.map((field) =>
    h("tr", { class: field.mark }, h("th", { scope: "row", text: line(field.name, 300) }), h("td", {}, value(field),
      field.mark && h("span", { class: "mark", text: word(MARKS, field.mark) ?? "" }),
      field.was !== undefined && h("span", { class: "was" }, "was ", h("del", { text: line(field.was, 8192) }))))))));
}

function value(field) {
  if (!field.secret) return h("span", { class: "value", text: line(field.value ?? "", 8192) });
  if (field.value === undefined) return h("span", { class: "quiet", text: "hidden: a secret" });
  const shown = h("span", { class: "value" }, "•••••••• ");
  shown.append(h(
    "button", { type: "button", class: "link", text: "Show", onclick: () => setText(shown, line(field.value, 8192)) },
  ));
  return shown;
}
