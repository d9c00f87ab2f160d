// Fault injection: rules that delay, slow down, answer or cut off requests, and faults of an emulated line.

import { h, replace, setText } from "./dom.js";
import { count, line } from "./format.js";

/** The effects of a fault rule, each with the unit of its number. */
const EFFECTS = [
  { name: "delay", title: "Delay it", unit: "ms", value: 2000, min: 1, max: 3_600_000 },
  { name: "rate", title: "Slow its bodies down to", unit: "bytes/s", value: 1000, min: 1, max: 1_000_000_000 },
  { name: "status", title: "Answer here with status", unit: "", value: 503, min: 200, max: 599 },
  { name: "cut", title: "Cut its response after", unit: "bytes", value: 1000, min: 0, max: 2_147_483_647 },
];

const words = (one) => {
  const effect = EFFECTS.find((each) => each.name in one);
  const what = [one.method, one.host, one.path].filter(Boolean).map((text) => line(text, 60)).join(" ") || "Every request";
  return `${what}: ${effect.title.toLowerCase()} ${one[effect.name]} ${effect.unit}`.trim();
};

/** The dialog. `actions` has `show`, `say` and `call(path, method, body)`; `given` is an exchange for the initial values, and `told` is called with the number of rules, and whether the cable is unplugged. */
export async function editFaults(actions, given, told) {
  const inForce = h("ul", { class: "faults", "aria-label": "In force" });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const attempt = async (act) => {
    problem.hidden = true;
    try {
      take(await (await act()).json());
    } catch (error) {
      setText(problem, error.message);
      problem.hidden = false;
    }
  };
  const post = (path, body) => attempt(() => actions.call(path, "POST", body));
  const lineTools = h("fieldset", { hidden: true }, h("legend", { text: "The emulated line" }));
  let last;
  function take(state) {
    told({ rules: state.faults?.length ?? 0, pulled: state.line?.pulled ?? false });
    const text = JSON.stringify(state);
    if (text === last) return;
    last = text;
    const focused = document.activeElement?.dataset.key;
    const all = state.faults ?? [];
    replace(inForce, all.length === 0 ? h("li", { class: "quiet", text: "There are no fault rules." }) : all.map((one) => h(
      "li", {}, h("span", { text: `${words(one)} (${count(one.hits, "request")} so far)` }), " ",
      h("button", {
        type: "button", text: "Remove", "data-key": `remove-${one.id}`, "aria-label": `Remove: ${words(one)}`,
        onclick: () => post(`/api/faults/${one.id}/remove`),
      }),
    )));
    lineTools.hidden = state.line === undefined;
    if (state.line !== undefined) replace(lineTools, h("legend", { text: "The emulated line" }), lineForm(state.line, post));
    if (focused) (document.querySelector(`[data-key="${focused}"]`) ?? effect).focus();
  }
  const method = h("input", { size: 8, spellcheck: "false", placeholder: "any", autocapitalize: "characters" });
  const host = h("input", { size: 18, spellcheck: "false", placeholder: "any" });
  const path = h("input", { class: "wide", spellcheck: "false", placeholder: "any; /a includes /a/b" });
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
  if (given !== undefined) {
    method.value = given.method ?? "";
    path.value = (given.path ?? "").replace(/[?#].*$/s, "");
  }
  const add = () => post("/api/faults", {
    method: method.value.trim() || undefined, host: host.value.trim() || undefined, path: path.value.trim() || undefined,
    [effect.value]: number.valueAsNumber,
  });
  const label = (text, ...inputs) => h("label", {}, h("span", { text }), inputs);
  actions.show("Inject faults", [
    inForce,
    h(
      "fieldset", {}, h("legend", { text: "New fault rule" }), label("Method", method), label("Host", host), label("Path", path),
      label("Effect", effect), label("Value", number), unit,
      h("button", { type: "button", class: "first", text: "Add", onclick: () => number.reportValidity() && add() }),
    ),
    lineTools, problem,
  ], [], () => clearInterval(timer));
  const look = () => actions.call("/api/faults", "GET");
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
