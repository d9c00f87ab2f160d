// Two exchanges side by side, with their differences marked.

import { charsetOf, decoded, textOf } from "./body.js";
import { h, replace } from "./dom.js";
import { bytes, clock, duration, line, plain } from "./format.js";
import { layOut } from "./json.js";
import { PHASES, phases } from "./waterfall.js";

const LINES = 1500;

export async function compare(place, [first, second], source, store, acts) {
  const title = h("h2", { tabindex: -1, text: `#${first} and #${second}` });
  const head = (text) => h("header", {}, h(
    "div", { class: "titles" }, title,
    h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => acts.close(), text: "✕" }),
  ), h("p", { class: "quiet", text }));
  replace(place, head("Loading …"));
  title.focus();
  let pair;
  try {
    pair = await Promise.all([first, second].map((id) => source.detail(id)));
  } catch (error) {
    return replace(place, head(error.message));
  }
  replace(place, head("Differences are marked."),
    h("div", { class: "part", tabindex: 0, role: "region", "aria-label": "Comparison" },
      rows("Exchange", pair.map((x) => facts(x)), pair),
      rows("Phases", pair.map((x) => times(store.entries.get(x.id), store.now)), pair),
      rows("Request fields", pair.map((x) => asMap(x.requestFields)), pair),
      rows("Response fields", pair.map((x) => asMap(x.responseFields)), pair),
      await bodies("Request body", pair, source, "request"), await bodies("Response body", pair, source, "response")));
  title.focus();
}

const facts = (x) => new Map([
  ["Asked", `${x.method} ${x.path}`], ["Host", x.authority ?? ""],
  ["Status", x.failure?.code ?? String(x.status ?? "")], ["Type", x.type ?? ""],
  ["Request body", bytes(x.requestBytes ?? 0)], ["Response body", bytes(x.responseBytes ?? 0)],
  ["Attempts", String(x.attempts ?? 1)],
  ["Cache", x.cache ?? ""], ["Answered by", x.from ?? ""], ["Begun", clock(x.begun)],
]);

function times(entry, now) {
  if (!entry) return new Map();
  const found = new Map(phases(entry, now).map((phase) => [phase.name, duration(phase.to - phase.from)]));
  const all = PHASES.filter((phase) => found.has(phase.name)).map((phase) => [phase.title, found.get(phase.name)]);
  return new Map([...all, ["Total", duration(entry.lasted(now))]]);
}

/** Fields by name; several fields of one name are joined into one value. */
function asMap(list = []) {
  const map = new Map();
  for (const field of list) {
    const name = field.name.toLowerCase();
    const value = field.value ?? "(hidden)";
    map.set(name, map.has(name) ? `${map.get(name)}, ${value}` : value);
  }
  return map;
}

function rows(title, [left, right], pair) {
  const names = [...new Set([...left.keys(), ...right.keys()])].filter((name) => left.get(name) || right.get(name));
  if (names.length === 0) return undefined;
  return h("section", {}, h("h3", { text: title }), h("table", { class: "pairs compare", "aria-label": title },
    h("thead", {}, h("tr", {}, h("td"), pair.map((x) => h("th", { scope: "col", text: `#${x.id}` })))),
    h("tbody", {}, names.map((name) => {
      const differs = left.get(name) !== right.get(name);
      return h("tr", { class: differs && "differs" }, h(
        "th", { scope: "row" }, line(name, 200), differs && h("span", { class: "unseen", text: " (differs)" }),
      ),
        [left, right].map((side) => h("td", { text: side.has(name) ? plain(side.get(name), 4096) : "—" })));
    }))));
}

async function bodies(title, pair, source, side) {
  const kept = pair.map((x) => x[`${side}Body`]);
  if (!kept.some(Boolean)) return undefined;
  const [left, right] = await Promise.all(pair.map(async (x, index) => {
    if (!kept[index]) return new Uint8Array();
    try { return (await decoded(await source.body(x.id, side), kept[index].coding)).bytes; } catch { return new Uint8Array(); }
  }));
  const section = h("section", {}, h("h3", { text: title }));
  if (left.length === right.length && left.every((byte, at) => byte === right[at])) {
    section.append(h("p", { class: "quiet", text: `The same ${bytes(left.length)}.` }));
    return section;
  }
  const charset = (x) => kept[pair.indexOf(x)]?.charset ?? charsetOf(x[`${side}Fields`]);
  const lines = [left, right].map((body, index) => setInLines(textOf(body.subarray(0, 400_000), charset(pair[index])).text).slice(0, LINES));
  section.append(h("pre", {
    class: "difference", tabindex: 0, "aria-label": `${title}: lines that differ`,
  }, difference(...lines).map(([sign, text]) =>
    h("span", { class: sign === "-" ? "less" : sign === "+" ? "more" : "", text: `${sign} ${line(text, 2000)}\n` }))));
  return section;
}

const setInLines = (text) => (layOut(text) ?? text).split("\n");

/** Lines of only the first (`-`), of both (` `) and of only the second (`+`), by the longest common subsequence. */
export function difference(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const rows = endA - start;
  const columns = endB - start;
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      lengths[i][j] = a[start + i] === b[start + j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const out = a.slice(Math.max(0, start - 3), start).map((text) => [" ", text]);
  let i = 0;
  let j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && a[start + i] === b[start + j]) {
      out.push([" ", a[start + i]]);
      i += 1;
      j += 1;
    } else if (i < rows && (j === columns || lengths[i + 1][j] >= lengths[i][j + 1])) {
      out.push(["-", a[start + i]]);
      i += 1;
    } else {
      out.push(["+", b[start + j]]);
      j += 1;
    }
  }
  return out.concat(a.slice(endA, endA + 3).map((text) => [" ", text]));
}
