// What the keys do, and what the page shows.

import { h, replace } from "./dom.js";

const STORED = "byway-keys";
const KEYS = [
  ["↑ ↓ Page Home End", "walk along the list"], ["Enter", "open the exchange"], ["Escape", "close it, back to the list"],
  ["/", "filter"], ["p", "pause and go on"],
  ["l", "the line, and back"], ["c", "compare this exchange with the next one that is opened"], ["?", "this help"],
];

/** Keys without Ctrl can be turned off: who dictates sends them by accident (WCAG 2.1.4). */
export const usesKeys = () => sessionStorage.getItem(STORED) !== "off";

export function help(dialog) {
  const keys = h(
    "input", { type: "checkbox", onchange: (event) => sessionStorage.setItem(STORED, event.target.checked ? "on" : "off") },
  );
  keys.checked = usesKeys();
  replace(dialog, h("form", { method: "dialog" }, h("h2", { text: "Help" }),
    h("dl", { class: "keys" }, KEYS.map(([key, text]) => h("div", {}, h("dt", {}, h("kbd", { text: key })), h("dd", { text })))),
    h("label", { class: "inline" }, keys, " Single keys act"),
    h(
      "p",
      { text: "The bars show where the time of an exchange went: waiting for a link, queued behind others, on the wire up, at the far end, and on the wire down. Hatched times are those in which the cable of its link was out." },
    ),
    h("p", { text: "Words in the filter must all occur; a word with - in front of it must not." }),
    h("div", { class: "tools" }, h("button", { type: "submit", class: "first", text: "Close" }))));
  dialog.setAttribute("aria-label", "Help");
  dialog.onclose = null;
  dialog.showModal();
}
