// Messages of a WebSocket, server-sent events or gRPC, as they arrive.

import { h, replace, setText } from "./dom.js";
import { bytes, clock, count, plain } from "./format.js";

const SHOWN = 1000;

export class Messages {
  constructor(exchange) {
    this.exchange = exchange;
    this.seen = 0;
    this.filter = "";
    this.list = h("ol", { class: "messages", tabindex: 0, "aria-label": "Messages" });
    this.note = h("p", { class: "quiet" });
    this.element = h("section", { class: "talk" },
      h("div", { class: "tools" },
        h(
          "input",
          {
            type: "search", placeholder: "Search in messages", "aria-label": "Search in messages",
            oninput: (event) => this.seek(event.target.value),
          },
        ),
        this.note),
      this.list);
  }

  take(messages) {
    const atEnd = this.list.scrollTop + this.list.clientHeight >= this.list.scrollHeight - 30;
    // The feed has the newest messages: those with the time of the last one seen, or later, are new.
    const last = this.last;
    const start = last === undefined ? 0 : messages.findLastIndex((message) => message.at === last.at && message.text === last.text) + 1;
    for (const message of messages.slice(start)) this.list.append(this.item(message));
    this.last = messages.at(-1) ?? last;
    while (this.list.childElementCount > SHOWN) this.list.firstElementChild.remove();
    this.seen += messages.length - start;
    setText(this.note, count(this.list.childElementCount, "message"));
    if (atEnd && start > 0) this.list.scrollTop = this.list.scrollHeight;
  }

  item(message) {
    const up = message.from === "client";
    const text = plain(message.text ?? "", 20_000);
    const element = h("li", { class: up ? "up" : "down" },
      h("span", { class: "way", "aria-label": up ? "from the client" : "from the server", text: up ? "↑" : "↓" }),
      h("time", { text: clock(message.at) }), h("span", { class: "kind", text: plain(message.kind ?? "", 40) }),
      h("span", { class: "amount", text: bytes(message.bytes ?? 0) }),
      h("pre", { class: /\S{4000}/.test(text) && "unbroken", text: text.length > 400 ? `${text.slice(0, 400)}…` : text }));
    if (text.length > 400) {
      const more = h(
        "button",
        {
          type: "button", class: "link", text: "All of it",
          onclick: () => { setText(element.querySelector("pre"), text); more.remove(); },
        },
      );
      element.append(more);
    }
    element.dataset.text = text.slice(0, 20_000).toLowerCase();
    element.hidden = !element.dataset.text.includes(this.filter);
    return element;
  }

  seek(text) {
    this.filter = text.toLowerCase();
    let shown = 0;
    for (const element of this.list.children) {
      element.hidden = !element.dataset.text.includes(this.filter);
      if (!element.hidden) shown += 1;
    }
    setText(this.note, this.filter ? `${shown} of ${count(this.list.childElementCount, "message")}` : count(shown, "message"));
  }
}
