// The overview above the list: all exchanges on one axis of time, and the range of it that the list shows.

import { h, setText } from "./dom.js";
import { clock, duration } from "./format.js";
import { Range } from "./range.js";
import { axis } from "./waterfall.js";

const LANE = 4;
/** Pixels that a pointer may move in a click. */
const STILL = 4;

export class Overview {
  /** `changed` is called after the user has changed the range. */
  constructor(place, changed) {
    this.place = place;
    this.changed = changed;
    this.range = new Range();
    this.entries = [];
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.window = h("div", { class: "window" });
    this.ends = Object.fromEntries([["from", "Start"], ["to", "End"]].map(([end, title]) => [end, h("div", {
      class: `end ${end}`, role: "slider", tabindex: 0, "aria-label": `${title} of the range of time`, "aria-orientation": "horizontal",
      "data-end": end, onkeydown: (event) => this.key(event, end),
    })]));
    this.area = h("div", { class: "area" }, this.canvas, this.window, this.ends.from, this.ends.to);
    this.label = h("span", { class: "label" });
    this.all = h("button", { type: "button", text: "All times", onclick: () => { this.all.blur(); this.reset(); } });
    place.append(this.area, h("div", { class: "about" }, this.label, this.all));
    this.area.addEventListener("pointerdown", (event) => this.press(event));
    this.area.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.area.addEventListener(name, () => { this.grip = undefined; });
    this.area.addEventListener("dblclick", () => this.reset());
    new ResizeObserver(() => this.paint()).observe(this.area);
  }

  /** The chosen range in milliseconds; `undefined` if it is the whole time. */
  get chosen() { return this.range.isWhole || !this.whole ? undefined : this.range.within(this.whole); }

  show(entries, now) {
    this.entries = entries;
    this.now = now;
    // While a range is dragged, the axis under the pointer stands still.
    if (this.grip === undefined) this.whole = axis(entries, now, true);
    this.place.hidden = entries.length === 0 && this.range.isWhole;
    this.paint();
  }

  /** Shows the whole time. */
  reset() {
    this.range.reset();
    this.told();
  }

  told() {
    this.paint();
    this.changed();
  }

  // --- drawing

  paint() {
    const { clientWidth: width, clientHeight: height } = this.area;
    if (!this.whole || width === 0) return;
    const { from, to } = this.range.within(this.whole);
    const span = this.whole.to - this.whole.from;
    const share = (at) => `${(((at - this.whole.from) / span) * 100).toFixed(3)}%`;
    this.window.style.left = this.ends.from.style.left = share(from);
    this.ends.to.style.left = share(to);
    this.window.style.width = `${(((to - from) / span) * 100).toFixed(3)}%`;
    this.place.classList.toggle("chosen", !this.range.isWhole);
    this.all.disabled = this.range.isWhole;
    setText(this.label, duration(to - from));
    for (const [end, at] of [["from", from], ["to", to]]) {
      const values = { now: at - this.whole.from, min: 0, max: span };
      for (const [name, value] of Object.entries(values)) this.ends[end].setAttribute(`aria-value${name}`, Math.round(value));
      this.ends[end].setAttribute("aria-valuetext", clock(at));
      this.ends[end].title = clock(at);
    }
    this.bars(width, height, span);
  }

  bars(width, height, span) {
    const ratio = devicePixelRatio || 1;
    // Setting the size also clears it.
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(this.canvas);
    const [usual, failed, running] = ["--phase-far", "--bad", "--phase-down"].map((name) => style.getPropertyValue(name));
    context.scale(ratio, ratio);
    const lanes = Math.max(1, Math.floor((height - 6) / LANE));
    this.entries.forEach((entry, index) => {
      const x = entry.exchange;
      const left = ((x.begun - this.whole.from) / span) * width;
      const length = (entry.lasted(this.now) / span) * width;
      context.fillStyle = x.state === "running" ? running : x.state === "failed" && x.failure?.code !== "cancelled" ? failed : usual;
      context.fillRect(left, 3 + (index % lanes) * LANE, Math.max(2, Math.min(length, width - left)), LANE - 1);
    });
  }

  // --- pointer

  at(event) {
    const box = this.area.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return this.whole.from + share * (this.whole.to - this.whole.from);
  }

  press(event) {
    if (event.button !== 0 || !this.whole) return;
    const at = this.at(event);
    const { from, to } = this.range.within(this.whole);
    const { end } = event.target.dataset;
    const kind = end ?? (!this.range.isWhole && at > from && at < to ? "move" : "new");
    this.grip = { kind, at, x: event.clientX, from };
    this.area.setPointerCapture(event.pointerId);
    if (end === undefined) event.preventDefault();
  }

  drag(event) {
    const { grip } = this;
    if (grip === undefined || (!grip.isMoved && Math.abs(event.clientX - grip.x) < STILL)) return;
    grip.isMoved = true;
    const at = this.at(event);
    if (grip.kind === "new") this.range.set(grip.at, at, this.whole);
    else if (grip.kind === "move") this.range.move(grip.from + at - grip.at - this.range.within(this.whole).from, this.whole);
    else this.range.setEnd(grip.kind, at, this.whole);
    this.told();
  }

  // --- keys

  key(event, end) {
    if (!this.whole || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && !this.range.isWhole) {
      event.stopPropagation();
      return this.reset();
    }
    const now = this.range.within(this.whole)[end];
    const step = (this.whole.to - this.whole.from) / (event.shiftKey ? 10 : 100);
    const moved = {
      ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
      PageDown: now - step * 10, PageUp: now + step * 10, Home: this.whole.from, End: this.whole.to,
    }[event.key];
    if (moved === undefined) return;
    event.preventDefault();
    this.range.setEnd(end, moved, this.whole);
    this.told();
  }
}
