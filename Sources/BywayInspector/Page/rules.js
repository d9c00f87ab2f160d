// Rules for requests: faults, breakpoints and stubs, in one dialog, and the faults of an emulated line.

import { h, replace, setText } from "./dom.js";
import { bytes, count, line } from "./format.js";

/** The effects of a fault rule, each with the unit of its number. */
const EFFECTS = [
  { name: "delay", title: "Delay it", unit: "ms", value: 2000, min: 1, max: 3_600_000 },
  { name: "rate", title: "Slow its bodies down to", unit: "bytes/s", value: 1000, min: 1, max: 1_000_000_000 },
  { name: "status", title: "Answer here with status", unit: "", value: 503, min: 200, max: 599 },
  { name: "cut", title: "Cut its response after", unit: "bytes", value: 1000, min: 0, max: 2_147_483_647 },
];

const EXAMPLE = "### GET /status delay=300ms\nHTTP/1.1 200\ncontent-type: application/json\n\n{\"uptime\": 12}\n";

const label = (text, ...inputs) => h("label", {}, h("span", { text }), inputs);
const requests = (one) => [one.method, one.host, one.path].filter(Boolean).map((text) => line(text, 60)).join(" ") || "Every request";

/** Inputs for the requests that a rule is for: `{labels, value}`. `given` is an exchange like them. */
function scope(given) {
  const method = h("input", { size: 8, spellcheck: "false", placeholder: "any", autocapitalize: "characters" });
  const host = h("input", { size: 18, spellcheck: "false", placeholder: "any" });
  const path = h("input", { class: "wide", spellcheck: "false", placeholder: "any; /a includes /a/b" });
  if (given !== undefined) {
    method.value = given.method ?? "";
    path.value = (given.path ?? "").replace(/[?#].*$/s, "");
  }
  return {
    labels: [label("Method", method), label("Host", host), label("Path", path)],
    value: () => ({
      method: method.value.trim() || undefined, host: host.value.trim() || undefined, path: path.value.trim() || undefined,
    }),
  };
}

/** Each kind has `title`, `none`, `words(rule)` and `form(given)`, which returns `{inputs, value}`: `value()` is `undefined` if it is not complete. */
const KINDS = {
  faults: {
    title: "Faults", one: "fault rule", none: "There are no fault rules.",
    words(one) {
      const effect = EFFECTS.find((each) => each.name in one);
      return `${requests(one)}: ${effect.title.toLowerCase()} ${one[effect.name]} ${effect.unit}`.trim();
    },
    form(given) {
      const where = scope(given);
      const effect = h("select", {}, EFFECTS.map(({ name, title }) => h("option", { value: name, text: title })));
      const number = h("input", { type: "number", required: true, size: 12 });
      const unit = h("span", {});
      const choose = () => {
        const { value, min, max, unit: text } = EFFECTS.find(({ name }) => name === effect.value);
        Object.assign(number, { value, min, max });
        setText(unit, text);
      };
      effect.addEventListener("change", choose);
      choose();
      return {
        inputs: [where.labels, label("Effect", effect), label("Value", number), unit],
        value: () => (number.reportValidity() ? { ...where.value(), [effect.value]: number.valueAsNumber } : undefined),
      };
    },
  },
  breakpoints: {
    title: "Breakpoints", one: "breakpoint", none: "There are no breakpoints.",
    words: (one) => `${requests(one)}: pause the ${one.on}${one.status === undefined ? "" : ` with status ${line(one.status, 10)}`}`,
    form(given) {
      const where = scope(given);
      const on = h("select", {}, h("option", { value: "request", text: "The request" }), h("option", { value: "response", text: "The response" }));
      const status = h("input", {
        size: 8, spellcheck: "false", placeholder: "any; 404, 5xx", pattern: "\\s*[2-5]([0-9]{2}|[xX]{2})\\s*", title: "A status such as 404, or 2xx, 3xx, 4xx or 5xx",
      });
      const choose = () => { status.disabled = on.value === "request"; };
      on.addEventListener("change", choose);
      choose();
      return {
        inputs: [where.labels, label("Pause", on), label("With status", status)],
        value: () => (status.reportValidity()
          ? { ...where.value(), on: on.value, status: (!status.disabled && status.value.trim()) || undefined } : undefined),
      };
    },
  },
  stubs: {
    title: "Stubs", one: "stub", none: "There are no stubs. “Make a stub” of an exchange makes one, too.",
    words: (one) => `${line(one.title, 120)}, ${bytes(one.bytes)}`,
    form() {
      const text = h("textarea", { rows: 7, spellcheck: "false", required: true, placeholder: EXAMPLE });
      return {
        inputs: [h("label", { class: "wide" }, h("span", { text: "Request, answer and body, as in a stub file" }), text)],
        value: () => (text.reportValidity() ? { text: text.value } : undefined),
        clear: () => { text.value = ""; },
      };
    },
  },
};

/** The first kind with rules in force: `state` is that of the feed. */
export const kindInForce = (state) => (state.rules > 0 || state.pulled ? "faults" : state.breakpoints > 0 ? "breakpoints" : "stubs");

/** The numbers of rules, in the form of the feed's events. */
const totals = (state) => ({
  rules: state.faults?.length ?? 0, breakpoints: state.breakpoints?.length ?? 0, stubs: state.stubs?.length ?? 0, pulled: state.line?.pulled ?? false,
});

/** A reminder of the rules in force; empty if there are none. */
export const reminder = ({ rules = 0, breakpoints = 0, stubs = 0, pulled = false }) => [
  [[rules, "fault rule"], [breakpoints, "breakpoint"], [stubs, "stub"]].filter(([n]) => n > 0).map(([n, one]) => count(n, one)).join(", ").replace(/$/, (end, at) => (at > 0 ? " active." : "")),
  pulled && "The cable is unplugged.",
].filter(Boolean).join(" ");

/** The dialog. `actions` has `show` and `call(path, method, body)`; `given` is an exchange for the initial values, and `told` is called with the numbers of rules. */
export async function editRules(actions, kind, given, told) {
  const inForce = h("ul", { class: "rules" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const attempt = async (act) => {
    problem.hidden = true;
    try {
      take(await (await act()).json());
      return true;
    } catch (error) {
      setText(problem, error.message);
      problem.hidden = false;
      return false;
    }
  };
  const post = (path, body) => attempt(() => actions.call(path, "POST", body));
  const lineTools = h("fieldset", { hidden: true }, h("legend", { text: "The emulated line" }));
  const place = h("div", { role: "tabpanel", id: "rules-panel", class: "panel" });
  const tabs = h("div", { role: "tablist", class: "tabs", "aria-label": "Kinds of rules", onkeydown: key }, Object.keys(KINDS).map((name) => h("button", {
    type: "button", role: "tab", id: `rules-${name}`, "aria-controls": "rules-panel", onclick: () => choose(name), text: KINDS[name].title,
  })));
  let last;
  let state = {};
  function take(told) {
    const text = JSON.stringify(told);
    if (text === last) return;
    last = text;
    state = told;
    draw();
  }
  function draw() {
    told(totals(state));
    for (const tab of tabs.children) {
      const name = tab.id.slice(6);
      const total = state[name]?.length ?? 0;
      setText(tab, total > 0 ? `${KINDS[name].title} (${total})` : KINDS[name].title);
      tab.setAttribute("aria-selected", name === kind);
      tab.tabIndex = name === kind ? 0 : -1;
    }
    place.setAttribute("aria-labelledby", `rules-${kind}`);
    const focused = document.activeElement?.dataset.key;
    const { none, words } = KINDS[kind];
    const all = state[kind] ?? [];
    inForce.setAttribute("aria-label", `${KINDS[kind].title} in force`);
    replace(inForce, all.length === 0 ? h("li", { class: "quiet", text: none }) : all.map((one) => h(
      "li", {}, h("span", { text: `${words(one)} (${count(one.hits, "request")} so far)` }), " ",
      h("button", {
        type: "button", text: "Remove", "data-key": `remove-${one.id}`, "aria-label": `Remove: ${words(one)}`,
        onclick: () => post(`/api/${kind}/${one.id}/remove`),
      }),
    )));
    lineTools.hidden = state.line === undefined || kind !== "faults";
    if (state.line !== undefined) replace(lineTools, h("legend", { text: "The emulated line" }), lineForm(state.line, post));
    if (focused) (document.querySelector(`[data-key="${focused}"]`) ?? place.querySelector("input, textarea"))?.focus();
  }
  function choose(name) {
    kind = name;
    problem.hidden = true;
    const { one, form } = KINDS[kind];
    const { inputs, value, clear } = form(given);
    const add = async () => {
      const rule = value();
      if (rule !== undefined && await post(`/api/${kind}`, rule)) clear?.();
    };
    replace(place, inForce, h("fieldset", {
      onkeydown: (event) => {
        if (event.key !== "Enter" || !event.target.matches("input")) return;
        event.preventDefault();
        add();
      },
    }, h("legend", { text: `New ${one}` }), inputs, h("button", { type: "button", class: "first", text: "Add", onclick: add })), lineTools);
    draw();
  }
  function key(event) {
    const names = Object.keys(KINDS);
    const at = names.indexOf(kind);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(names[(to + names.length) % names.length]);
    tabs.querySelector("[aria-selected=true]").focus();
  }
  choose(kind);
  actions.show("Rules for requests", [tabs, place, problem], [], () => clearInterval(timer));
  tabs.querySelector("[aria-selected=true]").focus();
  const look = () => actions.call(`/api/${kind}`, "GET");
  const timer = setInterval(() => attempt(look), 1000);
  await attempt(look);
}

function lineForm(state, post) {
  const rate = h("select", {
    "data-key": "line-errors", onchange: () => post("/api/line", { errors: rate.value }),
  }, state.rates.map((name) => h("option", { value: name, text: name })));
  rate.value = state.errors;
  return [
    h("button", {
      type: "button", "data-key": "line-cable", text: state.pulled ? "Plug in the cable" : "Unplug the cable",
      onclick: () => post("/api/line", { pulled: !state.pulled }),
    }),
    h("label", {}, h("span", { text: "Bit error rate" }), rate),
  ];
}
