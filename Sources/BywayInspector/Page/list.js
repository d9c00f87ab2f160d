// The list of exchanges: a grid in which only the visible rows exist.

import { Columns } from "./columns.js";
import { h } from "./dom.js";
import { bytes, clock, count, duration, line, number, rate } from "./format.js";
import { left as pauseLeft } from "./pause.js";
import { gaps } from "./store.js";
import * as waterfall from "./waterfall.js";

// The name, the title, and the description of a click, which sorts. The time of day has the order of the numbers, and phases are drawn.
const COLUMNS = [
  ["begun", "#", "In order of beginning"], ["clock", "Begun"], ["method", "Method"], ["path", "Path"], ["status", "Status"],
  ["type", "Type"], ["size", "Size"], ["time", "Time"], ["phases", "Phases"],
];
const UNSORTED = ["clock", "phases"];
const BEYOND = 6;
const NONE = [];

export class List {
  /** `acts` has `open(id)`, `walked(id)` and `sorted(order)`. */
  constructor(grid, acts) {
    this.grid = grid;
    this.acts = acts;
    this.entries = [];
    this.rows = new Map();
    this.spare = [];
    this.active = undefined;
    this.marked = undefined;
    this.order = { by: "begun", descending: false };
    /** The range of time that the bars show; `undefined`: that of the rows in view. */
    this.zoom = undefined;
    this.columns = new Columns(grid, () => this.resized());
    this.follows = true;
    this.linkOf = () => undefined;
    this.clock = () => Date.now();
    this.head = h(
      "div", { role: "row", class: "head", "aria-rowindex": 1 },
      COLUMNS.map(([name, title, says], index) => this.header(name, title, says, index)),
    );
    this.body = h("div", { role: "rowgroup", class: "rows" });
    grid.append(h("div", { role: "rowgroup", class: "heads" }, this.head), this.body);
    grid.addEventListener("scroll", () => this.scrolled(), { passive: true });
    grid.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      // With Ctrl or a similar key, the row's link opens in another tab or window.
      if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.acts.open(Number(row.dataset.id));
    });
    new ResizeObserver(() => this.resized()).observe(grid);
    this.resized();
    this.showOrder();
  }

  header(name, title, says, index) {
    const attributes = { role: "columnheader", "aria-colindex": index + 1, class: `c-${name}` };
    const edge = name !== "phases" && this.columns.edge(name, title === "#" ? "the number" : title);
    if (UNSORTED.includes(name)) {
      const marks = name === "phases" && (this.axisMarks = h("span", { class: "ticks", "aria-hidden": "true" }));
      return h("div", attributes, h("span", { class: "label", text: title }), marks, edge);
    }
    const button = h(
      "button", { type: "button", title: says, onclick: () => this.sortBy(name) }, title, h("span", { class: "arrow", "aria-hidden": "true" }),
    );
    return h("div", { ...attributes, "data-by": name }, button, edge);
  }

  sortBy(by) {
    const same = this.order.by === by;
    this.order = { by, descending: same ? !this.order.descending : ["size", "time", "status"].includes(by) };
    this.follows = false;
    this.showOrder();
    this.acts.sorted();
    this.scrollTo(0);
    this.render();
  }

  showOrder() {
    for (const cell of this.head.children) {
      const on = cell.dataset.by === this.order.by;
      if (on) cell.setAttribute("aria-sort", this.order.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
  }

  resized() {
    const before = this.rowHeight;
    this.rowHeight = parseFloat(getComputedStyle(this.grid).getPropertyValue("--row")) || 28;
    this.headHeight = this.head.offsetHeight;
    this.height = this.grid.clientHeight;
    this.body.style.height = `${this.entries.length * this.rowHeight}px`;
    this.axisWidth = this.axisMarks.clientWidth;
    this.top = this.grid.scrollTop;
    if (this.follows) this.scrollTo(Infinity);
    else if (before !== undefined && before !== this.rowHeight) this.scrollTo((this.top * this.rowHeight) / before);
    for (const row of this.rows.values()) row.top = undefined;
    this.render();
  }

  /** Visible rows keep their position, unless the end is followed. */
  show(entries) {
    const { top } = this;
    const first = Math.floor(top / this.rowHeight);
    const anchor = this.entries[first];
    const reordered = anchor && entries[first] !== anchor;
    this.entries = entries;
    this.body.style.height = `${entries.length * this.rowHeight}px`;
    this.grid.setAttribute("aria-rowcount", entries.length + 1);
    if (this.follows) this.toEnd();
    else if (reordered && top > 0) {
      const index = entries.indexOf(anchor);
      if (index >= 0) this.scrollTo(index * this.rowHeight + (top - first * this.rowHeight));
    }
    this.render();
  }

  toEnd() {
    this.ownScroll = true;
    this.scrollTo(Infinity);
  }

  /** Reads nothing from the document: the position is known, and reading it would cause layout. */
  scrollTo(top) {
    const most = Math.max(0, this.headHeight + this.entries.length * this.rowHeight - this.height);
    this.top = Math.min(most, Math.max(0, top));
    this.grid.scrollTop = this.top;
  }

  scrolled() {
    this.top = this.grid.scrollTop;
    const atEnd = this.top + this.height >= this.headHeight + this.entries.length * this.rowHeight - this.rowHeight;
    if (!this.ownScroll || !atEnd) this.follows = atEnd && this.order.by === "begun" && !this.order.descending;
    this.ownScroll = false;
    if (this.frame === undefined) {
      this.frame = requestAnimationFrame(() => {
        this.frame = undefined;
        this.render();
      });
    }
  }

  range() {
    const { top } = this;
    const first = Math.max(0, Math.floor(top / this.rowHeight));
    const last = Math.min(this.entries.length, Math.ceil((top + this.height - this.headHeight) / this.rowHeight));
    return [first, last];
  }

  render() {
    const now = this.clock();
    const [first, last] = this.range();
    const from = Math.max(0, first - BEYOND);
    const to = Math.min(this.entries.length, last + BEYOND);
    const byClock = this.order.by === "begun";
    this.scale = byClock && this.zoom ? { ...this.zoom, byClock } : waterfall.axis(this.entries.slice(first, last), now, byClock);
    const away = this.away(now);
    const wanted = new Set();
    for (let index = from; index < to; index += 1) wanted.add(this.entries[index].id);
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      this.rows.delete(id);
      this.spare.push(row);
    }
    for (let index = from; index < to; index += 1) {
      const entry = this.entries[index];
      let row = this.rows.get(entry.id);
      if (row === undefined) {
        row = this.spare.pop() ?? new Row(this.body);
        row.begin(entry);
        this.rows.set(entry.id, row);
      }
      row.put(index, this.rowHeight);
      row.update(entry, this.scale, now, { active: this.active === entry.id, marked: this.marked === entry.id });
      row.hatch(away(entry.exchange), this.scale);
    }
    for (const row of this.spare) row.hide();
    this.showActive();
    this.showAxis();
  }

  showActive() {
    const row = this.rows.get(this.active);
    if (row) this.grid.setAttribute("aria-activedescendant", row.element.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  showAxis() {
    const key = `${Math.round(this.scale.from)} ${Math.round(this.scale.to)} ${this.scale.byClock} ${this.axisWidth}`;
    if (key !== this.axisKey) {
      this.axisKey = key;
      const width = this.axisWidth;
      // Not hidden by the title, and not cut at the edge.
      const marks = waterfall.ticks(this.scale).filter((tick) => tick.share * width > 76 && (1 - tick.share) * width > 46);
      this.axisMarks.replaceChildren(...marks.map((tick) => {
        const mark = h("span", { text: tick.label });
        mark.style.left = `${(tick.share * 100).toFixed(2)}%`;
        return mark;
      }));
    }
  }

  /** The times in view in which the link of an exchange was disconnected; computed once for each link. */
  away(now) {
    if (!this.scale.byClock) return () => NONE;
    const known = new Map();
    return (exchange) => {
      const link = this.linkOf(exchange);
      if (link === undefined) return NONE;
      if (!known.has(link)) known.set(link, gaps(link, now).filter((gap) => gap.to > this.scale.from && gap.from < this.scale.to));
      return known.get(link);
    };
  }

  indexOf(id) { return this.entries.findIndex((entry) => entry.id === id); }

  activate(id, { reveal = true } = {}) {
    this.active = id;
    const index = this.indexOf(id);
    if (index >= 0 && reveal) {
      const top = index * this.rowHeight;
      const room = this.height - this.headHeight - this.rowHeight;
      if (top < this.top) this.scrollTo(top);
      else if (top > this.top + room) this.scrollTo(top - room);
    }
    this.render();
  }

  walk(by) {
    if (this.entries.length === 0) return;
    const index = this.indexOf(this.active);
    const start = index >= 0 || !Number.isFinite(by) ? index + by : by > 0 ? this.range()[0] : this.range()[1] - 1;
    const next = this.entries[Math.min(this.entries.length - 1, Math.max(0, start))];
    this.follows = this.follows && next === this.entries.at(-1);
    this.activate(next.id);
    this.acts.walked(next.id);
  }

  key(event) {
    if (event.target !== this.grid || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((this.height - this.headHeight) / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.walk(steps[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.active !== undefined) this.acts.open(this.active, { focus: true });
    else return;
    event.preventDefault();
  }
}

/** One row, reused for another exchange when it has left the view. */
class Row {
  static count = 0;

  constructor(parent) {
    this.id = `row-${(Row.count += 1)}`;
    this.texts = new Map();
    const cell = (name, index, ...children) => h(
      "div", { role: "gridcell", class: `c-${name}`, "aria-colindex": index }, children,
    );
    this.number = cell("begun", 1);
    this.clock = cell("clock", 2);
    this.method = cell("method", 3);
    this.host = h("span", { class: "host" });
    this.path = h("a", { class: "way", tabindex: -1 });
    this.tags = h("span", { class: "tags" });
    this.status = cell("status", 5);
    this.type = cell("type", 6);
    this.size = cell("size", 7);
    this.time = cell("time", 8);
    this.bar = h("div", { class: "bar" });
    this.phases = h("span", { class: "unseen" });
    this.gaps = h("div", { class: "gaps", "aria-hidden": "true" });
    this.element = h("div", { role: "row", class: "row", id: this.id }, this.number, this.clock, this.method,
      cell("path", 4, this.path, this.host, this.tags), this.status, this.type, this.size, this.time,
      cell("phases", 9, this.bar, this.gaps, this.phases));
    parent.append(this.element);
  }

  /** Comparing with the last written value is cheaper than reading the document. */
  set(element, text) {
    if (this.texts.get(element) === text) return;
    this.texts.set(element, text);
    element.textContent = text;
  }

  begin(entry) {
    this.version = undefined;
    this.element.dataset.id = entry.id;
    this.path.setAttribute("href", `#/exchanges/${Number(entry.id)}`);
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }

  put(index, height) {
    const top = index * height;
    if (top !== this.top) {
      this.top = top;
      this.element.style.transform = `translateY(${top}px)`;
    }
    if (index !== this.index) {
      this.index = index;
      this.element.setAttribute("aria-rowindex", index + 2);
      this.element.classList.toggle("odd", index % 2 === 1);
    }
  }

  update(entry, scale, now, { active, marked }) {
    const x = entry.exchange;
    if (this.active !== active) this.element.setAttribute("aria-selected", (this.active = active));
    if (this.marked !== marked) this.element.classList.toggle("marked", (this.marked = marked));
    if (this.version !== entry.version) {
      this.version = entry.version;
      this.write(entry, x);
    }
    if (x.state === "running" || this.timed !== entry.version || this.timedId !== entry.id) {
      this.timed = entry.version;
      this.timedId = entry.id;
      this.set(this.time, time(entry, now));
    }
    waterfall.draw(this.bar, entry, scale, now);
    if (active) this.set(this.phases, waterfall.inWords(entry, now));
  }

  /** Draws the times in which the link was disconnected. */
  hatch(away, scale) {
    const places = away.map((gap) => {
      const left = waterfall.share(gap.from, scale);
      return [`${(left * 100).toFixed(3)}%`, `max(2px, ${((waterfall.share(gap.to, scale) - left) * 100).toFixed(3)}%)`];
    });
    const key = String(places);
    if (key === (this.hatched ?? "")) return;
    this.hatched = key;
    this.gaps.replaceChildren(...places.map(([left, width]) => {
      const gap = h("div", { class: "gap" });
      Object.assign(gap.style, { left, width });
      return gap;
    }));
  }

  write(entry, x) {
    this.set(this.number, String(x.id));
    this.set(this.clock, clock(x.begun));
    this.number.title = clock(x.begun);
    this.set(this.method, line(x.method ?? "", 20));
    this.set(this.path, line(x.path ?? "", 300));
    this.set(this.host, line(entry.host, 60));
    const failed = x.state === "failed";
    // The client closed the connection: that is no failure.
    const left = failed && x.failure?.code === "cancelled";
    const paused = x.state === "running" && x.paused !== undefined;
    this.set(this.status, paused ? "‖" : x.status !== undefined ? String(x.status) : left ? "—" : failed ? "failed" : "···");
    if (paused) this.status.setAttribute("aria-label", `paused at the ${x.paused.at}`);
    else if (x.status === undefined && !failed) this.status.setAttribute("aria-label", "running");
    else this.status.removeAttribute("aria-label");
    const title = failed ? line(x.failure?.message ?? "It failed.", 300) : "";
    if (this.title !== title) this.status.title = this.title = title;
    this.element.dataset.state = paused ? "paused" : left ? "left" : failed ? "failed" : x.state === "running" ? "running" : String(Math.floor((x.status ?? 0) / 100));
    this.set(this.type, line(failed ? x.failure?.code ?? "failed" : x.type ?? "", 60));
    this.set(this.size, size(x));
    const tags = [];
    if (x.attempts > 1) tags.push(`×${x.attempts}`);
    if (x.from !== undefined) tags.push(line(x.from, 12));
    else if (x.cache === "revalidated" || x.cache === "stale") tags.push(x.cache);
    if (x.resends !== undefined) tags.push(`again #${x.resends}`);
    if (x.state === "running" && x.answered === undefined && x.behind?.length) {
      tags.push(`behind ${x.behind.slice(0, 3).map((id) => `#${id}`).join(" ")}${x.behind.length > 3 ? " …" : ""}`);
    }
    if (x.unpaused) tags.push("not paused");
    const key = tags.join("|");
    if (key === this.tagKey) return;
    this.tagKey = key;
    this.tags.replaceChildren(...tags.map((text) => h("span", { class: "tag", text })));
  }
}

function size(x) {
  const up = x.answered === undefined && x.requestBytes > 0;
  const done = up ? x.requestBytes : x.responseBytes ?? 0;
  const whole = up ? x.requestLength : x.length;
  if (x.state === "running" && whole > done) return `${up ? "↑ " : ""}${bytes(done)} of ${bytes(whole)}`;
  if (x.state === "running" && done === 0) return "";
  return `${up ? "↑ " : ""}${bytes(done)}`;
}

function time(entry, now) {
  const x = entry.exchange;
  if (x.state !== "running") return duration(entry.lasted(now));
  if (x.paused !== undefined) return `paused ${pauseLeft(x.paused, now)}`;
  const { left } = entry;
  if (left !== undefined) return `${rate(entry.rate)} · ${left < 60_000 ? `${Math.ceil(left / 1000)} s` : duration(left)} left`;
  if (entry.rate > 0) return `${rate(entry.rate)} · ${Math.floor(entry.lasted(now) / 1000)} s`;
  return `${(Math.max(100, entry.lasted(now)) / 1000).toFixed(1)} s …`;
}

export const summary = (shown, all) => (shown === all ? count(all, "exchange") : `${number(shown)} of ${count(all, "exchange")}`);
