// Connects the parts: the feed fills the store, the list and the panels show it, keys and buttons trigger actions.

import { Actions, clear, NO_TOKEN, saveHAR, saveRecording } from "./act.js";
import { compare } from "./compare.js";
import { Detail } from "./detail.js";
import { byId, h, replace, setText } from "./dom.js";
import { Feed, LiveSource } from "./feed.js";
import * as filters from "./filter.js";
import { bytes, count, line } from "./format.js";
import { HARSource, parse } from "./har.js";
import { help, usesKeys } from "./help.js";
import { LineView, Strip } from "./line.js";
import { List, summary } from "./list.js";
import { closing } from "./menu.js";
import { notice, say } from "./notices.js";
import { Overview } from "./overview.js";
import { arrive, go, place, token } from "./place.js";
import { overlaps } from "./range.js";
import { kindInForce, reminder } from "./rules.js";
import { Splitter } from "./split.js";
import { Store } from "./store.js";
import * as totals from "./totals.js";
import { PHASES } from "./waterfall.js";

arrive();

const live = new Store();
const liveSource = new LiveSource(live);
// The source shown: the running proxy, or a file.
let store = live;
let source = liveSource;
let filter = { ...filters.EMPTY };
let paused = false;
let compareWith;
let dirty = true;

const list = new List(byId("list"), { open, walked, sorted: () => update(true) });
list.linkOf = (exchange) => store.linkOf(exchange);
list.clock = () => store.now;
const actions = new Actions(byId("dialog"), {
  say, open: (id) => waitFor(id), mark, showRules: (state) => live.takeRules(state),
  exchange: (id) => live.entries.get(id)?.exchange, now: () => live.now,
});
const detail = new Detail(
  byId("detail"), {
    close, open: (id) => open(id, { focus: true }), actions: (view) => actions.buttons(view), pause: {
      able: () => (store !== live ? "Not available for a file." : token() === undefined ? NO_TOKEN : undefined),
      decide: (paused, act, changes) => attempt(() => actions.decide(paused, act, changes)),
      edit: (paused, exchange) => actions.editPaused(paused, exchange), answer: (paused, exchange) => actions.answerPaused(paused, exchange),
    },
  },
);
const strip = new Strip(byId("strip"), (name) => { show({ view: "line" }, true); lineView.show(live, name); });
const lineView = new LineView(byId("line"));
new Splitter(byId("divider"), byId("split"), () => list.resized());
const overview = new Overview(byId("overview"), () => refresh({ always: true }));
closing(byId("files"));

// --- content

function update(now = false) {
  dirty = true;
  if (now) refresh();
}

function refresh({ always = false } = {}) {
  dirty = false;
  if (paused && !always) return showTotal();
  const all = [...store.entries.values()];
  const { now } = store;
  const passing = filters.isEmpty(filter) ? all : all.filter(filters.passes(filter, now));
  overview.show(passing, now);
  list.zoom = overview.chosen;
  const shown = list.zoom === undefined ? passing : passing.filter((entry) => overlaps(list.zoom, entry, now));
  const unordered = list.order.by === "begun" && !list.order.descending;
  list.show(unordered ? shown : filters.sort(shown, list.order, now));
  showTotal();
  const empty = byId("empty");
  empty.hidden = shown.length > 0;
  setText(empty, passing.length > 0 ? "No exchange is in the chosen range of time." : all.length > 0 ? "No exchange matches the filter."
    : "There are no exchanges yet. Send a request to the proxy, at the address that its command has printed: it appears here at once.");
}

function showTotal() {
  const shown = list.entries.length;
  const all = paused || !filters.isEmpty(filter) || list.zoom ? store.entries.size : shown;
  const sums = totals.inWords(list.entries, store.now);
  setText(byId("total"), paused ? `Paused: ${summary(shown, shown)}${sums}; now ${summary(all, all)}` : `${summary(shown, all)}${sums}`);
  byId("newest").hidden = paused || list.follows || list.order.by !== "begun" || list.order.descending || shown * list.rowHeight <= list.height;
}

let choicesAt = 0;
function showChoices() {
  if (performance.now() - choicesAt < 2000 || document.activeElement?.tagName === "SELECT") return;
  choicesAt = performance.now();
  const count = filters.showChoices(store.entries.values());
  // If all exchanges have one host, its name is left out of the rows.
  list.grid.classList.toggle("one-host", count < 2);
}

live.listeners.add((what) => {
  if (what === "can") return showAble();
  if (what === "rules") return showRules(live.rules);
  if (what === "links") {
    strip.show(live);
    if (place().view === "line") lineView.show(live);
  } else if (store === live) update();
  if (what === "exchanges") showPaused();
  if (store === live) detail.changed();
});

// The page's clock: updates running times and shows new data, at most four times a second.
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let ticked = 0;
function tick(at) {
  requestAnimationFrame(tick);
  if (at - ticked < (calm.matches ? 1000 : 250)) return;
  ticked = at;
  if (place().view !== "exchanges") return;
  if (dirty || (filter.slower !== undefined && store === live)) refresh();
  else if (!paused && store === live && [...list.rows.keys()].some((id) => store.entries.get(id)?.exchange.state === "running")) {
    list.render();
    overview.show(overview.entries, store.now);
    showTotal();
  }
  showChoices();
  detail.changed();
}
requestAnimationFrame(tick);

// --- location

function open(id, { focus = false } = {}) {
  if (compareWith !== undefined && compareWith !== id) return openComparison(compareWith, id);
  // The exchange in view keeps its position.
  list.follows = false;
  show({ view: "exchanges", id }, place().id === undefined);
  list.activate(id, { reveal: focus });
  if (focus || narrow.matches) detail.title.focus({ preventScroll: true });
}

let walking;
function walked(id) {
  if (byId("detail").hidden) return;
  clearTimeout(walking);
  walking = setTimeout(() => show({ view: "exchanges", id }), 60);
}

/** Opens a repeated exchange when the feed has reported it. */
function waitFor(id) {
  const until = performance.now() + 5000;
  const look = () => {
    if (store.entries.has(id)) open(id, { focus: true });
    else if (performance.now() < until) setTimeout(look, 50);
  };
  look();
}

function mark(id) {
  compareWith = id;
  list.marked = id;
  list.render();
  notice("compare", `Choose the exchange to compare #${id} with.`, "Cancel", unmark);
  list.grid.focus();
}

function unmark() {
  compareWith = undefined;
  list.marked = undefined;
  list.render();
  notice("compare");
}

function openComparison(first, second) {
  unmark();
  show({ view: "exchanges", id: second, other: first }, true);
}

function close() {
  const was = place().id;
  show({ view: "exchanges" });
  if (was !== undefined) list.activate(was);
  list.grid.focus();
}

/** Shows a location; `deeper` adds it to the browser's history. */
function show(to, deeper = false) {
  go(to, deeper);
  const isLine = to.view === "line";
  byId("exchanges").hidden = isLine;
  byId("line").hidden = !isLine;
  byId("to-exchanges").toggleAttribute("aria-current", false);
  byId("to-line").toggleAttribute("aria-current", false);
  byId(isLine ? "to-line" : "to-exchanges").setAttribute("aria-current", "page");
  if (isLine) return lineView.show(live);
  const comparing = to.other !== undefined;
  byId("detail").hidden = to.id === undefined || comparing;
  byId("comparison").hidden = !comparing;
  byId("divider").hidden = to.id === undefined;
  byId("split").dataset.open = comparing ? "comparison" : to.id !== undefined ? "detail" : "";
  if (to.id === undefined || comparing) detail.close();
  if (comparing) {
    compare(byId("comparison"), [to.other, to.id], source, store, { close }).catch((error) => {
      close();
      say(error.message, true);
    });
  } else if (to.id !== undefined) {
    list.active = to.id;
    detail.open(to.id, source, store);
  }
  list.resized();
  if (dirty) refresh();
}

addEventListener("popstate", () => {
  arrive();
  show(place());
  if (place().id !== undefined) list.activate(place().id);
});

// --- notices

/** A reminder of rules in force. */
function showRules(state) {
  const canShow = token() !== undefined;
  notice("rules", reminder(state) || undefined, canShow && "Show", () => attempt(() => actions.editRules(kindInForce(state))));
}

const known = new Set();
/** A notice of paused exchanges, which also says when one begins to wait, or passes because too many do. */
function showPaused() {
  const all = live.paused;
  notice("paused", all.length > 0 ? `${count(all.length, "exchange is", "exchanges are")} paused.` : undefined, "Show", nextPaused);
  for (const { id, paused, method, path } of all) {
    if (known.has(paused.id)) continue;
    known.add(paused.id);
    say(`#${id} is paused at the ${paused.at}: ${line(method ?? "", 20)} ${line(path ?? "", 60)}`);
  }
  const passed = [...live.entries.values()].filter(({ id, exchange }) => exchange.unpaused && !unpaused.has(id));
  for (const { id } of passed) unpaused.add(id);
  if (passed.length > 0) say("Too many exchanges are paused: others pass their breakpoint. The list marks them “not paused”.", true);
}
const unpaused = new Set();

/** Opens the next paused exchange after the one that is open. */
function nextPaused() {
  const all = live.paused;
  if (all.length === 0) return say("No exchange is paused.");
  const at = all.findIndex((exchange) => exchange.id === place().id);
  if (store !== live) backToLive();
  open(all[(at + 1) % all.length].id, { focus: true });
  detail.changed();
  detail.pause.focus();
}

let wasBroken = false;
const feed = new Feed(live, (state) => {
  byId("feed").dataset.kind = state.kind;
  document.body.classList.toggle("broken", state.kind === "broken");
  const behind = `${count(state.left ?? 0, "exchange")} behind`;
  const loading = state.bytes ? `Loading, ${bytes(state.bytes)} so far` : "Loading";
  setText(byId("feed-text"), { loading, live: "Live", behind, broken: "Not connected" }[state.kind]);
  if (state.kind === "broken") {
    notice(
      "broken", [state.reason, live.entries.size > 0 && "The data shown is old.", Number.isFinite(state.wait) && `Trying again in ${Math.ceil(state.wait / 1000)} s.`].filter(Boolean).join(" "),
      "Try now",
      () => feed.retry(),
    );
    if (!wasBroken) say("The connection to the inspector was lost.");
    wasBroken = true;
    // Running exchanges may have ended: their times stop.
    live.stopped ??= live.now;
  } else if (state.kind !== "loading") {
    notice("broken");
    live.stopped = undefined;
    if (wasBroken) say("Connected again.");
    wasBroken = false;
  }
});

// --- controls

const narrow = matchMedia("(max-width: 760px)");

/** In a narrow window, the menu also has the less frequent actions. */
function arrange() {
  if (narrow.matches) byId("files-items").prepend(byId("clear"), byId("rules"));
  else byId("files").before(byId("clear"), byId("rules"));
  setText(byId("files-title"), narrow.matches ? "More" : "Files");
}
narrow.addEventListener("change", arrange);
arrange();

function filterChanged() {
  const slower = byId("f-slower").valueAsNumber;
  filter = {
    text: byId("f-text").value, method: byId("f-method").value, status: byId("f-status").value, host: byId("f-host").value,
    type: byId("f-type").value,
    slower: Number.isFinite(slower) && slower > 0 ? slower : undefined, running: byId("f-running").checked,
  };
  byId("f-reset").hidden = filters.isEmpty(filter);
  byId("f-more").classList.toggle("on", !filters.isEmpty({ ...filter, text: "" }));
  clearTimeout(filterChanged.timer);
  // The typed letter is drawn first, then the result.
  requestAnimationFrame(() => setTimeout(() => refresh({ always: true })));
  filterChanged.timer = setTimeout(() => say(`${summary(list.entries.length, store.entries.size)}.`), 700);
}
byId("filter").addEventListener("input", filterChanged);
byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("f-reset").addEventListener("click", () => {
  byId("filter").reset();
  filterChanged();
  byId("f-text").focus();
});
byId("f-more").addEventListener("click", () => {
  const open = byId("f-more").getAttribute("aria-expanded") !== "true";
  byId("f-more").setAttribute("aria-expanded", String(open));
  byId("f-choices").classList.toggle("open", open);
  list.resized();
});

function pause() {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  setText(byId("pause"), paused ? "Resume" : "Pause");
  document.body.classList.toggle("paused", paused);
  say(paused ? "Paused. New exchanges are kept and shown later." : "Resumed.");
  update(true);
}

// A form may have been opened by a button that is gone.
byId("dialog").addEventListener("close", () => {
  if (document.activeElement === document.body) (byId("detail").hidden ? list.grid : detail.title).focus({ preventScroll: true });
});

const attempt = async (act) => { try { await act(); } catch (error) { say(error.message, true); } };
byId("pause").addEventListener("click", pause);
byId("clear").addEventListener("click", () => attempt(clear));
byId("har-save").addEventListener("click", () => attempt(saveHAR));
byId("record-save").addEventListener("click", () => attempt(async () => {
  await saveRecording();
  say("Saved. Started with --replay FILE, the proxy gives the same answers.");
}));
byId("rules").addEventListener("click", () => attempt(() => actions.editRules("faults", store.entries.get(place().id)?.exchange)));
byId("har-open").addEventListener("click", () => byId("har-file").click());
byId("har-file").addEventListener("change", (event) => attempt(async () => {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file) return;
  if (file.size > 256 << 20) throw new Error("The file is larger than 256 MiB.");
  openFile(file.name, parse(await file.text()));
}));
byId("help").addEventListener("click", () => help(byId("dialog")));
byId("newest").addEventListener("click", () => {
  list.follows = true;
  list.show(list.entries);
  showTotal();
});
byId("to-exchanges").addEventListener("click", () => show({ view: "exchanges" }, true));
byId("to-line").addEventListener("click", () => show({ view: "line" }, true));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  (byId("exchanges").hidden ? byId("line") : list.grid).focus();
});
list.grid.addEventListener("scroll", showTotal, { passive: true });
function showAble() {
  const why = store !== live ? "Not available for a file." : token() === undefined ? NO_TOKEN : undefined;
  for (const id of ["clear", "har-save", "record-save", "rules"]) {
    byId(id).disabled = why !== undefined;
    byId(id).title = why ?? "";
  }
  byId("rules").hidden = !live.can.has("faults") && !live.can.has("line");
}
showAble();
replace(byId("legend"), PHASES.map((phase) => h("li", {}, h("span", { class: `swatch phase-${phase.name}` }), phase.title)),
  h("li", {}, h("span", { class: "swatch swatch-gap" }), "Link disconnected"));

function openFile(name, { entries, left }) {
  store = new Store();
  source = new HARSource(entries);
  overview.range.reset();
  store.resetExchanges({ exchanges: entries.map((entry) => entry.detail) });
  look();
  notice("file", `${line(name, 80)}: ${left > 0 ? `the first ${summary(entries.length, entries.length + left)}` : summary(entries.length, entries.length)} of a file, read-only.`, "Back to live", backToLive);
}

function backToLive() {
  store = live;
  source = liveSource;
  overview.range.reset();
  notice("file");
  look();
}

function look() {
  paused = false;
  list.active = undefined;
  list.follows = store === live;
  byId("pause").disabled = store !== live;
  showAble();
  choicesAt = 0;
  detail.close();
  show({ view: "exchanges" });
  list.scrollTo(0);
  update(true);
  list.grid.focus();
}

addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || byId("dialog").open) return;
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    if (event.target.id === "f-text" && event.target.value === "") list.grid.focus();
    else if (typing) return;
    else if (compareWith !== undefined) unmark();
    else if (place().id !== undefined) close();
    return;
  }
  if (typing || !usesKeys()) return;
  const keys = {
    "/": () => {
      if (place().view !== "exchanges") show({ view: "exchanges" });
      byId("f-text").focus();
      byId("f-text").select();
    },
    p: () => store === live && pause(), "?": () => help(byId("dialog")), b: nextPaused,
    l: () => show({ view: place().view === "line" ? "exchanges" : "line" }, true),
    c: () => { const id = place().id ?? list.active; if (id !== undefined) (compareWith === undefined ? mark : open)(id); },
  };
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});

list.activate(place().id);
show(place());
feed.start();
