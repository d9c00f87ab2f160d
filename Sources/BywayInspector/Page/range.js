// A range of time within a whole that grows. An end that is not set follows that end of the whole.

/** The shortest range in milliseconds. */
const LEAST = 1;

export class Range {
  constructor() { this.reset(); }

  reset() {
    this.from = undefined;
    this.to = undefined;
  }

  get isWhole() { return this.from === undefined && this.to === undefined; }

  /** The ends within the whole, as numbers. */
  within(whole) {
    const from = Math.min(Math.max(this.from ?? whole.from, whole.from), whole.to - LEAST);
    return { from, to: Math.min(Math.max(this.to ?? whole.to, from + LEAST), whole.to) };
  }

  /** Sets both ends, in any order. */
  set(one, other, whole) {
    const from = Math.min(one, other);
    const to = Math.max(one, other, from + LEAST);
    this.from = from <= whole.from ? undefined : from;
    this.to = to >= whole.to ? undefined : to;
  }

  /** Moves one end, `from` or `to`, but not past the other one. */
  setEnd(end, at, whole) {
    const { from, to } = this.within(whole);
    if (end === "from") this.set(Math.min(at, to - LEAST), to, whole);
    else this.set(from, Math.max(at, from + LEAST), whole);
  }

  /** Moves both ends; the length stays. */
  move(by, whole) {
    const { from, to } = this.within(whole);
    const step = Math.min(Math.max(by, whole.from - from), whole.to - to);
    this.set(from + step, to + step, whole);
  }
}

/** Whether a part of an exchange is in the range. */
export const overlaps = ({ from, to }, entry, now) => entry.exchange.begun <= to && entry.exchange.begun + entry.lasted(now) >= from;
