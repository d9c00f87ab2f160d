// Accessibility rules for the current page (WCAG 2.2, levels A and AA), checked against the values that the browser computes.
//
// The file is one expression to evaluate in a browser. It returns one line for each violation.
(() => {
  const wrong = new Set();
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    && !element.closest(".unseen, .skip, noscript, option");
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  const short = (element) => element.cloneNode(false).outerHTML.slice(0, 120);
  const say = (rule, element, more = "") => wrong.add(`${rule}: ${short(element)} ${more}`.trim());

  // --- Names, roles and references (1.1.1, 1.3.1, 4.1.2)

  const referred = (element, attribute) => (element.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean)
    .map((id) => document.getElementById(id));
  const name = (element) => [
    element.getAttribute("aria-label"), ...referred(element, "aria-labelledby").map((other) => other?.textContent),
    ...[...(element.labels ?? [])].map((label) => label.textContent), element.alt,
    // The text of other elements is their content, not their name.
    element.matches("button, a, summary, [role=tab]") && element.textContent, element.title,
  ].find((text) => text && text.trim()) ?? "";
  const NAMED = "button, input, select, textarea, summary, a, img, dialog[open], main, nav, [role=tab], [role=tabpanel], [role=grid], "
    + "[role=table], [role=separator], [role=slider], [role=region], [role=img], [role=search], [role=group]";
  for (const element of all(NAMED)) if (name(element) === "") say("no name", element);
  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) say("an id twice", element);
    ids.add(element.id);
  }
  for (const attribute of ["aria-controls", "aria-labelledby", "aria-describedby", "aria-activedescendant"]) {
    for (const element of all(`[${attribute}]`)) {
      if (referred(element, attribute).includes(null)) say(`${attribute} of nothing`, element);
    }
  }
  const INSIDE = { row: "grid table", gridcell: "row", cell: "row", columnheader: "row", rowheader: "row", tab: "tablist" };
  for (const [role, places] of Object.entries(INSIDE)) {
    for (const element of all(`[role=${role}]`)) {
      if (!element.closest(places.split(" ").map((place) => `[role=${place}]`).join())) say(`not inside a ${places}`, element);
    }
  }
  if (!document.documentElement.lang) wrong.add("the page has no language");
  if (document.title.trim() === "") wrong.add("the page has no title");
  if (all("main").length !== 1) wrong.add(`${all("main").length} main parts at once`);

  // --- Focus: all controls can be reached, in reading order (2.1.1, 2.4.3, 2.5.8)

  const reached = all("a[href], button, input, select, textarea, summary, [tabindex]").filter((element) => element.tabIndex >= 0 && !element.disabled);
  const modal = document.querySelector("dialog[open]");
  const inOrder = reached.filter((element) => !modal || modal.contains(element));
  for (const element of reached) {
    if (element.tabIndex > 0) say("an order of its own", element);
    if (element.closest("[aria-hidden=true]")) say("takes focus and is hidden", element);
  }
  inOrder.slice(1).forEach((element, index) => {
    const before = inOrder[index].getBoundingClientRect();
    const now = element.getBoundingClientRect();
    const isAbove = now.bottom <= before.top && now.left < before.right;
    const isBefore = now.right <= before.left && now.top < before.bottom && now.bottom > before.top;
    // Positions are comparable only within the same scrolling element.
    const moved = element.closest(".part, .list, .line, .strip") !== inOrder[index].closest(".part, .list, .line, .strip");
    if (!moved && (isAbove || isBefore)) say("comes after what is behind it", element, `after ${short(inOrder[index])}`);
  });
  for (const element of all("*")) {
    const scrolls = element.scrollHeight > element.clientHeight + 2 && ["auto", "scroll"].includes(getComputedStyle(element).overflowY);
    if (scrolls && element.tabIndex < 0 && !element.querySelector('button, a[href], input, [tabindex="0"]')) say("scrolls and takes no focus", element);
  }
  for (const element of all("button, select, input, summary")) {
    const { width, height } = element.getBoundingClientRect();
    const isInText = element.matches(".link, .quiet, [type=checkbox]");
    if (!isInText && width > 0 && Math.min(width, height) < 24) say("a small target", element, `${Math.round(width)} × ${Math.round(height)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.add(`the page scrolls sideways: ${document.documentElement.scrollWidth} of ${innerWidth}`);

  // --- Contrast: 4.5 for text, 3 for graphics and for borders of controls (1.4.3, 1.4.11)

  const colour = (text) => {
    const [r = 0, g = 0, b = 0, a = 1] = (text.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    return text.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, text === "transparent" ? 0 : a];
  };
  const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3])).concat(1);
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [less, more] = [light(one), light(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  const upwards = (element) => (element ? [element, ...upwards(element.parentElement)] : []);
  const ground = (element) => {
    const layers = upwards(element).map((each) => colour(getComputedStyle(each).backgroundColor));
    const opaque = layers.findIndex((layer) => layer[3] >= 1);
    const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return layers.slice(0, opaque < 0 ? undefined : opaque + 1).reduceRight((below, layer) => over(layer, below), scheme);
  };
  const judge = (rule, element, paint, below, least) => {
    const ratio = contrast(over(paint, below), below);
    if (ratio < least) say(rule, element, `${ratio.toFixed(2)} : 1`);
  };
  for (const element of all("body *")) {
    const isText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())
      || (element.matches("input, textarea") && element.value);
    if (!isText || element.disabled) continue;
    const style = getComputedStyle(element);
    const [r, g, b, a] = colour(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const opacity = upwards(element).reduce((product, each) => product * Number(getComputedStyle(each).opacity), a);
    judge("pale text", element, [r, g, b, opacity], ground(element), 4.5);
  }
  for (const element of all("button, select, input, textarea")) {
    const style = getComputedStyle(element);
    const border = colour(style.borderBottomColor);
    if (parseFloat(style.borderBottomWidth) > 0 && border[3] > 0 && !element.disabled && element.matches("select, input, textarea")) {
      judge("a pale border", element, border, ground(element.parentElement), 3);
    }
  }
  // The bars distinguish the phases, and lie on rows of any background.
  const rows = ["--ground", "--raised", "--sunken", "--accent-ground"];
  const probe = document.createElement("i");
  document.body.append(probe);
  const valueOf = (name) => {
    probe.style.color = `var(${name})`;
    return colour(getComputedStyle(probe).color);
  };
  const grounds = rows.map((name) => [name, valueOf(name)]);
  for (const element of all(".legend .swatch[class*=phase-]")) {
    for (const [row, below] of grounds) judge(`a pale phase on ${row}`, element, colour(getComputedStyle(element).backgroundColor), below, 3);
  }
  probe.remove();
  return [...wrong].join("\n");
})()
