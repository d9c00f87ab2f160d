// Phases of an exchange as bars on one axis of time.

import { duration } from "./format.js";
import { gaps } from "./store.js";

/** The phases in order; `here` is an answer that did not need the link, `pause` and `delay` are the wishes of a user. */
export const PHASES = [
  { name: "link", title: "Waited before it was sent" },
  { name: "queue", title: "Queued behind others" },
  { name: "up", title: "Wire up" },
  { name: "far", title: "The far end" },
  { name: "down", title: "Wire down" },
  { name: "here", title: "Answered here" },
  { name: "pause", title: "Paused at a breakpoint" },
  { name: "delay", title: "Delayed by a fault rule" },
];

/** `[{name, from, to}]` in milliseconds after the exchange began; the last one of a running exchange continues. */
export function phases(entry, now) {
  return over(over(course(entry, now), away(entry, now)), held(entry));
}

/** The phases without what interrupts them. */
function course(entry, now) {
  const x = entry.exchange;
  const end = entry.lasted(now);
  if (x.from !== undefined && x.sent === undefined) return [{ name: "here", from: 0, to: end }];
  // An answer may begin before the request has ended: from then on, the phase is the wire down.
  const first = x.replied ?? x.answered;
  // Only lines report when the request was on the wire. Until then it waits here: the proxy reads ahead of a slow line.
  const isHere = x.state === "running" && entry.link?.line !== undefined;
  const whole = x.arrived ?? (isHere ? undefined : x.requestEnded);
  const up = whole === undefined ? first : Math.min(whole, first ?? Infinity);
  const queue = x.left !== undefined || (isHere && first === undefined) ? [["queue", x.left]] : [];
  const steps = [["link", x.sent], ...queue, ["up", up], ["far", first], ["down", undefined]];
  const found = [];
  let at = 0;
  for (const [name, until] of steps) {
    const to = Math.min(until ?? end, end);
    if (to > at) found.push({ name, from: at, to });
    at = Math.max(at, to);
    if (until === undefined) break;
  }
  return found;
}

/** While the link was disconnected, an exchange waited for it, whatever its phase was. */
function away(entry, now) {
  // An answer from here did not need the link.
  if (entry.link === undefined) return [];
  const { begun, from, sent } = entry.exchange;
  if (from !== undefined && sent === undefined) return [];
  return gaps(entry.link, now).map((gap) => ({ name: "link", from: gap.from - begun, to: gap.to - begun }));
}

/** While a breakpoint or a fault rule kept an exchange waiting, nothing else did. */
const held = ({ exchange }) => (exchange.held ?? []).map(({ by, from, to }) => ({ name: by === "fault" ? "delay" : "pause", from, to: to ?? Infinity }));

/** Puts spans of time over phases. */
function over(found, spans) {
  const split = spans.reduce((all, span) => all.flatMap((phase) => [
    { ...phase, to: Math.min(phase.to, span.from) },
    { name: span.name, from: Math.max(phase.from, span.from), to: Math.min(phase.to, span.to) },
    { ...phase, from: Math.max(phase.from, span.to) },
  ].filter(({ from, to }) => to > from)), found);
  return split.reduce((all, phase) => {
    if (all.at(-1)?.name === phase.name) all.at(-1).to = phase.to;
    else all.push({ ...phase });
    return all;
  }, []);
}

export function phaseTitle(name) {
  return PHASES.find((phase) => phase.name === name).title;
}

/** A description of the bar for screen readers. */
export function inWords(entry, now) {
  return phases(entry, now)
    .filter((phase) => phase.to - phase.from >= 0.05)
    .map((phase) => `${phaseTitle(phase.name).toLowerCase()} ${duration(phase.to - phase.from)}`)
    .join(", ");
}

/** Whether its duration says how long its reader stayed, and nothing about other exchanges. */
const isStream = ({ exchange, kind }) => exchange.state === "running" || kind === "events" || exchange.status === 101 || exchange.method === "CONNECT";

/** A duration that nine in ten exchanges do not exceed by far, whatever the number of streams. */
function usual(entries, now) {
  const finished = entries.filter((entry) => !isStream(entry));
  const lasts = (finished.length > 0 ? finished : entries).map((entry) => entry.lasted(now)).sort((a, b) => a - b);
  return lasts[Math.floor((lasts.length - 1) * (finished.length > 0 ? 0.9 : 0.5))] * 1.5;
}

/** The time axis of some exchanges. A very long one is cut at the edge, because the others would shrink to points. */
export function axis(entries, now, byClock) {
  if (entries.length === 0) return { from: 0, to: 1000, byClock };
  const typical = usual(entries, now);
  if (!byClock) {
    const longest = entries.reduce((most, entry) => Math.max(most, entry.lasted(now)), 0);
    return { from: 0, to: Math.max(1, Math.min(longest, typical * 2)), byClock };
  }
  let from = Infinity;
  let to = -Infinity;
  for (const entry of entries) {
    from = Math.min(from, entry.exchange.begun);
    to = Math.max(to, entry.exchange.begun + Math.min(entry.lasted(now), Math.max(typical, 100)));
  }
  // In steps, so that the view stands still while the ends move slightly.
  const span = Math.max(10, to - from);
  const step = 10 ** Math.floor(Math.log10(span)) / 5;
  return {
    from: Math.floor((from - span * 0.01) / step) * step, to: Math.ceil((Math.max(to, from + 10) + span * 0.01) / step) * step,
    byClock,
  };
}

/** Three to six marks at round values. */
export function ticks({ from, to, byClock }) {
  const span = to - from;
  const rough = span / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const base = byClock ? from : 0;
  const marks = [];
  for (let at = step; at < span * 0.97; at += step) {
    marks.push({
      share: (at + base - from) / span,
      label: (byClock ? "+" : "") + (span >= 1000 ? `${+(at / 1000).toFixed(2)} s` : `${+at.toFixed(2)} ms`),
    });
  }
  return marks;
}

/** Draws a bar into one element: its position, and its phases as the stops of a gradient. */
export function draw(bar, entry, scale, now) {
  const x = entry.exchange;
  const span = scale.to - scale.from;
  const start = scale.byClock ? x.begun - scale.from : 0;
  const whole = Math.max(entry.lasted(now), 0.01);
  // The part on the axis, in milliseconds after the beginning of the exchange.
  const from = Math.max(0, -start);
  const to = Math.min(whole, span - start);
  bar.hidden = to < from;
  if (bar.hidden) return;
  const shown = Math.max(to - from, 0.01);
  const left = ((start + from) / span) * 100;
  const width = (shown / span) * 100;
  const place = `${left.toFixed(2)}% ${Math.min(width, 100 - left).toFixed(2)}%`;
  if (bar.drawnPlace !== place) {
    bar.drawnPlace = place;
    [bar.style.left, bar.style.width] = place.split(" ");
  }
  const stops = phases(entry, now).map((phase) => {
    const stop = (at) => `${Math.min(100, Math.max(0, ((at - from) / shown) * 100)).toFixed(2)}%`;
    return `var(--phase-${phase.name}) ${stop(phase.from)} ${stop(phase.to)}`;
  });
  const image = stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
  if (bar.drawnImage !== image) {
    bar.drawnImage = image;
    bar.style.backgroundImage = image;
  }
  bar.classList.toggle("cut", whole > to + 0.01);
  bar.classList.toggle("entered", from > 0);
  bar.classList.toggle("failed", x.state === "failed" && x.failure?.code !== "cancelled");
  bar.classList.toggle("running", x.state === "running");
}

export function share(at, scale) {
  return Math.min(1, Math.max(0, (at - scale.from) / (scale.to - scale.from)));
}
