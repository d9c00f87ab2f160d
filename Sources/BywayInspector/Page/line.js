// The links: the present and past load of each line and its capacity, its errors, and unframed output on it.

import { Chart } from "./chart.js";
import { h, replace, setText, svg } from "./dom.js";
import { bytes, clock, duration, line as oneLine, number, plain, rate, word } from "./format.js";
import { gaps } from "./store.js";

const STATES = {
  idle: "not used yet", opening: "opening", up: "up", interrupted: "interrupted", closed: "closed, opens on request",
  down: "down", refused: "refused",
  waiting: "waiting for its gateway", standingBy: "ready, not in use",
};
const EVENTS = {
  opened: "Opened", lost: "Lost", interrupted: "Interrupted", resumed: "Resumed", closed: "Closed", failed: "Could not be opened",
};

// Terminal sequences for colours and positions (ECMA-48 §5.4), which are removed.
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[@-_])/g;

const words = (link) => word(STATES, link.state) ?? oneLine(link.state ?? "", 40);

/** The duration of the state, if it is a second or more: less would flicker. */
const since = (link, now) => (link.since && now - link.since >= 1000 ? ` for ${duration(now - link.since)}` : "");

/** The bytes of the last second, both ways; 0 if none were counted lately, `undefined` if there is no count or the link is not up. */
function lately(link, now) {
  if (!link.line || ["interrupted", "down", "refused"].includes(link.state)) return undefined;
  const sample = link.samples.at(-1);
  return sample && now - sample[0] < 2500 ? { up: sample[1], down: sample[2] } : { up: 0, down: 0 };
}

/** The minimum number of bytes for a meaningful error rate. */
const COUNTED = 100_000;

const errors = ({ errorsPerMillion, sent = 0, received = 0 }) => (sent + received < COUNTED ? undefined : errorsPerMillion);

/** A row for each link, above the list: its state, its load, and the load of the last minute. */
export class Strip {
  constructor(place, open) {
    this.place = place;
    this.open = open;
    this.items = new Map();
  }

  show(store) {
    for (const [name, item] of this.items) {
      if (store.links.has(name)) continue;
      item.element.remove();
      this.items.delete(name);
    }
    for (const link of store.links.values()) {
      let item = this.items.get(link.name);
      if (!item) {
        item = this.item(link.name);
        this.items.set(link.name, item);
        this.place.append(item.element);
      }
      this.write(item, link, store.now);
    }
    this.place.hidden = store.links.size === 0;
  }

  item(name) {
    const item = {
      name: h("strong"), state: h("span", { class: "linkstate" }),
      spark: svg("svg", { class: "spark", viewBox: "0 0 120 22", preserveAspectRatio: "none", "aria-hidden": "true" }),
      facts: h("span", { class: "linkfacts" }),
    };
    item.element = h(
      "button", { type: "button", class: "link-item", onclick: () => this.open(name) }, item.name, item.state, item.spark,
      item.facts,
    );
    return item;
  }

  write(item, link, now) {
    item.element.dataset.state = link.state;
    setText(item.name, oneLine(link.name, 60));
    setText(
      item.state,
      link.state === "up" ? "up" : words(link) + since(link, now),
    );
    const carried = lately(link, now);
    const facts = link.running > 0 ? [`${link.running} running`] : [];
    if (carried) facts.push(`↓ ${rate(carried.down)}`, `↑ ${rate(carried.up)}`);
    const nominal = link.line?.nominal;
    // A counted second may be slightly longer than a second.
    if (carried && nominal) facts.push(`${Math.min(100, Math.round((Math.max(carried.up, carried.down) * 100) / nominal))} % of ${rate(nominal)}`);
    if (link.line?.roundTrip !== undefined) facts.push(`round trip ${duration(link.line.roundTrip)}`);
    const wrong = link.line && errors(link.line);
    if (wrong > 0) facts.push(`${number(wrong)} errors in a million bytes`);
    setText(item.facts, facts.join("  ·  "));
    item.spark.style.display = link.line && link.samples.length ? "" : "none";
    const top = nominal ?? Math.max(1, ...link.samples.map((sample) => Math.max(sample[1], sample[2])));
    const minute = Array.from({ length: 60 }, () => 0);
    for (const sample of link.samples.slice(-61)) {
      const at = 59 - Math.floor((now - sample[0]) / 1000);
      if (at >= 0 && at < 60) minute[at] = Math.max(sample[1], sample[2]);
    }
    const points = minute.map((value, at) => `${at * 2 + 1},${(21 - Math.min(1, value / top) * 19).toFixed(1)}`).join(" L");
    replace(item.spark, svg("path", { d: `M1,21 L${points} L119,21 Z` }));
  }
}

/** The number of figures that are always shown. */
const MAIN = 4;

/** All data of one link. */
export class LineView {
  constructor(place) {
    this.place = place;
    this.panels = new Map();
  }

  show(store, wanted) {
    for (const [name, panel] of this.panels) {
      if (store.links.has(name)) continue;
      panel.element.remove();
      this.panels.delete(name);
    }
    this.none ??= h("p", { class: "quiet", text: "There are no links yet." });
    if (store.links.size === 0) replace(this.place, this.none);
    else this.none.remove();
    for (const link of store.links.values()) {
      let panel = this.panels.get(link.name);
      if (!panel) {
        panel = new Panel(link);
        this.panels.set(link.name, panel);
        this.place.append(panel.element);
      }
      panel.show(link, store.now);
    }
    if (wanted !== undefined) this.panels.get(wanted)?.element.scrollIntoView({ block: "start" });
  }
}

class Panel {
  constructor(link) {
    this.title = h("h2", { text: oneLine(link.name, 120) });
    this.state = h("p", { class: "linkhead" });
    this.facts = h("dl", { class: "tiles" });
    this.others = h("dl", { class: "tiles" });
    this.more = h("details", { class: "more" }, h("summary", { text: "More figures" }), this.others);
    this.charts = h("div", { class: "charts" });
    this.said = h("pre", { class: "console", tabindex: 0, "aria-label": "Unframed output on the line" });
    this.console = h("section", { hidden: true }, h("h3", { text: "Unframed output on the line" }), this.said);
    this.events = h("ol", { class: "events", tabindex: 0, "aria-label": "Events of the link" });
    this.element = h("article", { class: "wire" }, h("header", {}, this.title, this.state), this.facts, this.more, this.charts,
      h("section", {}, h("h3", { text: "Events" }), this.events), this.console);
  }

  show(link, now) {
    this.element.dataset.state = link.state;
    setText(
      this.state,
      [
        words(link) + since(link, now),
        link.reason && oneLine(link.reason, 600), link.address !== link.name && oneLine(link.address ?? "", 300),
      ].filter(Boolean).join("  ·  "),
    );
    this.tiles(link, now);
    this.chart(link, now);
    const last = link.said?.at(-1)?.at;
    if (last !== this.saidKey) {
      this.saidKey = last;
      this.console.hidden = last === undefined;
      setText(this.said, (link.said ?? []).map(({ at, text }) => `${clock(at)}  ${plain(text.replace(TERMINAL, "").replaceAll("\r", "").trimEnd(), 4000)}`).join("\n"));
    }
    const key = link.events.length ? `${link.events.length} ${link.events.at(-1).at}` : "";
    if (key !== this.eventsKey) {
      this.eventsKey = key;
      replace(this.events, link.events.length === 0 ? h("li", { class: "quiet", text: "None." })
        : link.events.toReversed().map((event) => h("li", { "data-kind": event.kind },
          h("time", { text: clock(event.at) }), h("span", { class: "kind", text: word(EVENTS, event.kind) ?? oneLine(event.kind, 60) }),
          h("span", { class: "why", text: oneLine(event.reason ?? "", 600) }))));
    }
  }

  tiles(link, now) {
    const carried = lately(link, now);
    const line = link.line;
    const share = line?.nominal ? ` of ${rate(line.nominal)}` : "";
    const rows = [["Running", number(link.running ?? 0)]];
    if (line) {
      const lasts = (value) => (carried ? rate(value) + share : "nothing");
      const add = (name, value, write = number) => { if (value !== undefined) rows.push([name, write(value)]); };
      rows.unshift(["Down now", lasts(carried?.down)], ["Up now", lasts(carried?.up)]);
      rows.push(["Round trip", line.roundTrip === undefined ? "not measured yet" : duration(line.roundTrip)]);
      add("Rate of the line", line.baud, (value) => `${number(value)} baud`);
      add("Can carry", line.rate, rate);
      add("Errors in a million bytes", errors(line));
      add("Frames sent", line.framesSent);
      if (line.framesAgain !== undefined) rows.push([
        "Sent again",
        `${number(line.framesAgain)}${line.framesSent > 0 ? ` (${((line.framesAgain * 100) / line.framesSent).toFixed(1)} %)` : ""}`,
      ]);
      add("Frames received", line.framesReceived);
      add("Damaged", line.damaged);
      add("Duplicate or refused", line.refused);
      add("Frame size", line.frameSize, bytes);
      add(
        "Waiting to be sent", line.queue,
        (value) => bytes(value) + (line.rate > 0 && value > 0 ? `, ${duration((value * 1000) / line.rate)}` : ""),
      );
      add("Unframed bytes", line.foreign, bytes);
      add("Resumes", line.resumes);
      add("Sent in total", line.sent, bytes);
      add("Received in total", line.received, bytes);
    }
    rows.push(["Openings", number(link.openings ?? 0)], ["Losses", number(link.losses ?? 0)]);
    if (this.tileRows?.length !== rows.length || this.tileRows.some(([name], index) => rows[index][0] !== name)) {
      this.values = rows.map(() => h("dd"));
      const tiles = rows.map(([name], index) => h("div", {}, h("dt", { text: name }), this.values[index]));
      replace(this.facts, tiles.slice(0, MAIN));
      replace(this.others, tiles.slice(MAIN));
      this.more.hidden = tiles.length <= MAIN;
    }
    rows.forEach(([, value], index) => setText(this.values[index], value));
    this.tileRows = rows;
  }

  chart(link, now) {
    const drawn = [
      link.line && (this.rates ??= this.add({
        title: "Bytes a second", write: rate, step: 1024, limit: link.line?.nominal && "What the line can carry each way",
        series: [{ name: "down", title: "Down", index: 2 }, { name: "up", title: "Up", index: 1 }],
      })),
      link.line && (this.frames ??= this.add({
        title: "Frames a second", write: number, height: 120,
        series: [
          { name: "sent", title: "Sent", index: 3 }, { name: "again", title: "Sent again", index: 4, bars: true },
          { name: "damaged", title: "Damaged", index: 5, bars: true },
        ],
      })),
      this.running ??= this.add({
        title: "Exchanges running", write: (value) => number(Math.round(value * 10) / 10), height: 100,
        series: [{ name: "running", title: "Running", index: 7 }],
      }),
    ];
    this.charts.hidden = link.samples.length === 0 && !link.line;
    const holes = gaps(link, now);
    for (const chart of drawn) {
      if (chart) chart.draw({
        samples: link.samples, gaps: holes, limit: chart === this.rates ? link.line?.nominal : undefined, now,
      });
    }
  }

  add(options) {
    const chart = new Chart(options);
    this.charts.append(chart.element);
    return chart;
  }
}
