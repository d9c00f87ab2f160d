// The help dialog: the keys, and the meaning of the bars.

import { h, replace } from "./dom.js";

const STORED = "byway-keys";
const KEYS = [
  ["↑ ↓ Page Home End", "move through the list"], ["Enter", "open the exchange"], ["Escape", "close it, back to the list"],
  ["← → Page Home End", "move an end of the range of time, or a column's edge, that has the focus"], ["/", "filter"], ["p", "pause and resume"],
  ["b", "the next exchange that is paused"], ["l", "the line, and back"], ["c", "compare this exchange with the next one that is opened"], ["?", "this help"],
];

/** Keys without Ctrl can be turned off: speech input sends them by accident (WCAG 2.1.4). */
export const usesKeys = () => sessionStorage.getItem(STORED) !== "off";

export function help(dialog) {
  const keys = h(
    "input", { type: "checkbox", onchange: (event) => sessionStorage.setItem(STORED, event.target.checked ? "on" : "off") },
  );
  keys.checked = usesKeys();
  replace(dialog, h("form", { method: "dialog" }, h("h2", { text: "Help" }),
    h("dl", { class: "keys" }, KEYS.map(([key, text]) => h("div", {}, h("dt", {}, h("kbd", { text: key })), h("dd", { text })))),
    h("label", { class: "inline" }, keys, " Use single-key shortcuts"),
    h(
      "p",
      { text: "The bars show where the time of an exchange went: waiting for a link, queued behind others, on the wire up, at the far end, and on the wire down. Hatched times are those in which the link was disconnected." },
    ),
    h("p", { text: "Words in the filter must all occur; a word with a leading - must not." }),
    h("div", { class: "tools" }, h("button", { type: "submit", class: "first", text: "Close" }))));
  dialog.setAttribute("aria-label", "Help");
  dialog.onclose = null;
  dialog.showModal();
}
