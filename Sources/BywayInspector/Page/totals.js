// The totals of the exchanges in the list.

import { bytes, duration } from "./format.js";

/** `{up, down, time}`: the bytes of all bodies, and the milliseconds from the first beginning to the last end. */
export function totals(entries, now) {
  let [up, down, from, to] = [0, 0, Infinity, -Infinity];
  for (const entry of entries) {
    const x = entry.exchange;
    up += x.requestBytes ?? 0;
    down += x.responseBytes ?? 0;
    from = Math.min(from, x.begun);
    to = Math.max(to, x.begun + entry.lasted(now));
  }
  return { up, down, time: Math.max(0, to - from) };
}

export function inWords(entries, now) {
  if (entries.length === 0) return "";
  const { up, down, time } = totals(entries, now);
  return `  ·  ↓ ${bytes(down)}  ·  ↑ ${bytes(up)}  ·  ${duration(time)}`;
}
