// The widths of the list's columns: each is dragged at its right edge, or changed with the arrow keys.

import { h } from "./dom.js";

const STORED = "byway-columns";
const LEAST = 28;
/** The width that the last column keeps, which takes the rest. */
const REST = 120;
const STEP = 8;

export class Columns {
  /** `moved` is called after a change. */
  constructor(grid, moved) {
    this.grid = grid;
    this.moved = moved;
    this.widths = new Map(stored());
    for (const [name, width] of this.widths) this.apply(name, width);
  }

  /** The edge of a column, for its header. */
  edge(name, title) {
    const edge = h("div", {
      class: "edge", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": `Width of ${title}`,
      "aria-valuemin": LEAST, "aria-valuemax": 1000, "aria-valuenow": Math.round(this.widths.get(name) ?? LEAST),
      onfocus: () => edge.setAttribute("aria-valuenow", Math.round(width())),
      onpointerdown: (event) => {
        edge.setPointerCapture(event.pointerId);
        start = { x: event.clientX, width: width() };
        event.preventDefault();
        event.stopPropagation();
      },
      onpointermove: (event) => { if (edge.hasPointerCapture(event.pointerId)) set(start.width + event.clientX - start.x); },
      ondblclick: () => this.reset(name),
      onkeydown: (event) => {
        const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (step === undefined && event.key !== "Home") return;
        event.preventDefault();
        event.stopPropagation();
        if (step === undefined) this.reset(name);
        else set(width() + step);
      },
    });
    let start;
    const width = () => edge.parentElement.offsetWidth;
    const set = (wanted) => {
      const room = width() + edge.closest(".head").lastElementChild.offsetWidth - REST;
      this.set(name, Math.round(Math.max(LEAST, Math.min(wanted, room))));
      edge.setAttribute("aria-valuenow", Math.round(width()));
    };
    return edge;
  }

  set(name, width) {
    this.widths.set(name, width);
    this.apply(name, width);
    this.save();
  }

  /** Gives a column its usual width. */
  reset(name) {
    this.widths.delete(name);
    this.grid.style.removeProperty(`--w-${name}`);
    this.save();
  }

  apply(name, width) { this.grid.style.setProperty(`--w-${name}`, `minmax(0, ${width}px)`); }

  save() {
    sessionStorage.setItem(STORED, JSON.stringify([...this.widths]));
    this.moved();
  }
}

function stored() {
  try {
    const all = JSON.parse(sessionStorage.getItem(STORED)) ?? [];
    return all.filter(([name, width]) => /^[a-z]+$/.test(name) && width >= LEAST && width <= 4000);
  } catch {
    return [];
  }
}
