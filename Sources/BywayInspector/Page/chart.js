// Charts of counters per second over the last minutes, as SVG.

import { h, replace, setText, svg } from "./dom.js";
import { clock } from "./format.js";

const SPAN = 300_000;
const LEFT = 64;
const BOTTOM = 20;
const TOP = 8;

/** `series`: `[{name, title, index, bars}]`, where `index` is the column in the samples of the API. */
export class Chart {
  constructor({ title, series, write, step, height = 150, limit }) {
    Object.assign(this, { title, series, write, step, height });
    this.drawing = svg("svg", { role: "img", class: "chart", height });
    this.reading = h("p", { class: "reading" });
    this.legend = h("ul", { class: "legend" }, series.map(({ name, title }) => h(
      "li", {}, h("span", { class: `swatch s-${name}` }), title,
    )),
      limit && h("li", {}, h("span", { class: "swatch swatch-limit" }), limit));
    this.element = h(
      "section", {}, h("h3", { text: title }), this.legend, h("div", { class: "frame" }, this.drawing), this.reading,
    );
    this.drawing.addEventListener("pointermove", (event) => this.point(event));
    this.drawing.addEventListener("pointerleave", () => { this.pointed = undefined; this.read(); });
  }

  draw({ samples, gaps, limit, now }) {
    Object.assign(this, { samples, now });
    const width = Math.max(200, this.drawing.parentElement.clientWidth);
    this.width = width;
    const from = now - SPAN;
    const seen = samples.filter((sample) => sample[0] >= from - 1000);
    const most = Math.max(limit ?? 0, 1, ...seen.flatMap((sample) => this.series.map(({ index }) => sample[index] ?? 0)));
    const top = roundUp(most * 1.02, this.step);
    const x = (at) => LEFT + ((at - from) / SPAN) * (width - LEFT - 8);
    const y = (value) => this.height - BOTTOM - (value / top) * (this.height - BOTTOM - TOP);
    this.at = (px) => from + ((px - LEFT) / (width - LEFT - 8)) * SPAN;
    this.x = x;
    const parts = [];
    for (const gap of gaps) {
      if (gap.to < from) continue;
      const left = Math.max(x(from), x(gap.from));
      parts.push(svg(
        "rect", { class: "gap", x: left, width: Math.max(2, x(gap.to) - left), y: TOP, height: this.height - BOTTOM - TOP },
      ));
    }
    for (const value of [0, top / 2, top]) {
      parts.push(svg("line", { class: "grid", x1: LEFT, x2: width - 8, y1: y(value), y2: y(value) }),
        svg("text", { x: LEFT - 8, y: y(value) + 4, class: "axis end", text: this.write(value) }));
    }
    for (let minute = 5; minute >= 0; minute -= 1) {
      if (width < 420 && minute % 2 === 1 && minute !== 1) continue;
      const label = minute === 0 ? "now" : `${minute} min ago`;
      parts.push(svg(
        "text",
        {
          x: x(now - minute * 60_000), y: this.height - 4, class: `axis ${minute === 5 ? "" : minute === 0 ? "end" : "middle"}`,
          text: width < 560 && minute > 0 ? `−${minute}` : label,
        },
      ));
    }
    for (const { name, index, bars } of this.series) parts.push(bars ? columns(seen, index, name, x, y) : area(seen, index, name, x, y, from, now));
    if (limit !== undefined) parts.push(svg("line", { class: "limit", x1: LEFT, x2: width - 8, y1: y(limit), y2: y(limit) }));
    this.cross = svg("line", { class: "cross", y1: TOP, y2: this.height - BOTTOM, visibility: "hidden" });
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("aria-label", this.words(seen));
    replace(this.drawing, parts, this.cross);
    this.read();
  }

  words(seen) {
    const said = this.series.map(({ title, index }) => `${title}: ${this.write(seen.at(-1)?.[index] ?? 0)} in the last second, at most ${this.write(Math.max(0, ...seen.map((sample) => sample[index] ?? 0)))}`);
    return `${this.title}, five minutes. ${said.join(". ")}.`;
  }

  point(event) {
    const box = this.drawing.getBoundingClientRect();
    this.pointed = ((event.clientX - box.left) / box.width) * this.width;
    this.read();
  }

  read() {
    if (!this.samples) return;
    const pointed = this.pointed >= LEFT ? this.at(this.pointed) : undefined;
    const second = pointed ?? this.now;
    const sample = pointed === undefined ? this.samples.at(-1) : this.samples.find((one) => Math.abs(one[0] - second) <= 600);
    if (this.cross) {
      this.cross.setAttribute("visibility", pointed === undefined ? "hidden" : "visible");
      this.cross.setAttribute("x1", this.pointed ?? 0);
      this.cross.setAttribute("x2", this.pointed ?? 0);
    }
    const fresh = sample && (pointed !== undefined || this.now - sample[0] < 2500);
    const values = this.series.map(({ title, index }) => `${title} ${this.write(fresh ? sample[index] ?? 0 : 0)}`).join(" · ");
    setText(this.reading, `${pointed === undefined ? "Now" : clock(second, false)}: ${values}`);
  }
}

/** A second without a sample counts as 0. */
function area(seen, index, name, x, y, from, now) {
  const points = [];
  let last = from;
  for (const sample of seen) {
    const at = Math.max(from, sample[0]);
    if (at - last > 1500) points.push([last + 1000, 0], [at - 1000, 0]);
    points.push([at, sample[index] ?? 0]);
    last = at;
  }
  if (now - last > 2500) points.push([last + 1000, 0], [now, 0]);
  const path = points.map(([at, value]) => `${x(Math.max(from, at)).toFixed(1)},${y(value).toFixed(1)}`).join(" L");
  if (path === "") return svg("g");
  const [first, end] = [points[0][0], points.at(-1)[0]];
  return svg(
    "g", { class: `series s-${name}` },
    svg("path", { class: "area", d: `M${x(Math.max(from, first)).toFixed(1)},${y(0)} L${path} L${x(end).toFixed(1)},${y(0)} Z` }),
    svg("path", { class: "edge", d: `M${path}` }),
  );
}

function columns(seen, index, name, x, y) {
  const width = Math.max(1.5, x(1000) - x(0) - 0.5);
  return svg("g", { class: `series bars s-${name}` }, seen.filter((sample) => sample[index] > 0).map((sample) =>
    svg("rect", { x: x(sample[0]) - width, width, y: y(sample[index]), height: Math.max(1, y(0) - y(sample[index])) })));
}

function roundUp(value, step = 10) {
  const power = step ** Math.floor(Math.log(value) / Math.log(step));
  const factors = step === 1024 ? [1, 2, 4, 8, 16, 32, 64, 100, 128, 200, 256, 400, 512, 1024] : [1, 2, 4, 5, 8, 10];
  return power * factors.find((factor) => factor * power >= value);
}
