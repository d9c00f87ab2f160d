// Short messages: what has happened, which disappears again, and the most important lasting notice, in one line above the list.

import { byId, setText } from "./dom.js";

/** The notices, the most important one first. */
const ORDER = ["broken", "paused", "compare", "file", "rules"];
const notices = new Map();
let timer;

export function say(text, isProblem = false) {
  const said = byId("said");
  setText(said, text);
  said.classList.toggle("problem", isProblem);
  said.classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => { said.classList.remove("on"); }, isProblem ? 9000 : 4000);
}

/** Shows a notice, with a button for `act`, or removes it if there is no text. */
export function notice(name, text, action, act) {
  if (text === undefined) notices.delete(name);
  else notices.set(name, { text, action, act });
  const shown = ORDER.map((key) => notices.get(key)).find(Boolean);
  byId("notice").hidden = shown === undefined;
  setText(byId("notice-text"), shown?.text ?? "");
  setText(byId("notice-act"), shown?.action ?? "");
  byId("notice-act").hidden = !shown?.action;
  byId("notice-act").onclick = shown?.act ?? null;
  byId("notice").dataset.kind = notices.has("broken") ? "broken" : "";
}
