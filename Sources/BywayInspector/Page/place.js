// The location in the page, from the URL's fragment, and the token for actions, which is removed from the fragment.
//
//     #TOKEN   #TOKEN/exchanges/12   #/exchanges/12   #/compare/12/15   #/line

const STORED = "byway-token";
// Any other fragment, such as `#foo`, is not for this page.
const TOKEN = /^[0-9a-z]{16,64}$/;

export function token() {
  return sessionStorage.getItem(STORED) ?? undefined;
}

/** Removes the token from the visible URL. */
export function arrive() {
  const [, secret, path] = /^#?([^/]*)(.*)$/s.exec(location.hash);
  if (secret === "") return;
  if (TOKEN.test(secret)) sessionStorage.setItem(STORED, secret);
  history.replaceState(history.state, "", `${location.pathname}${location.search}${path ? `#${path}` : ""}`);
}

export function place() {
  const [, what, first, second] = location.hash.replace(/^#/, "").split("/");
  const id = (text) => (/^\d{1,15}$/.test(text ?? "") ? Number(text) : undefined);
  if (what === "exchanges" && id(first) !== undefined) return { view: "exchanges", id: id(first) };
  if (what === "compare" && id(first) !== undefined && id(second) !== undefined) {
    return { view: "exchanges", id: id(second), other: id(first) };
  }
  return { view: what === "line" ? "line" : "exchanges" };
}

function path({ view, id, other }) {
  if (view === "line") return "#/line";
  if (id === undefined) return "#/";
  return other === undefined ? `#/exchanges/${id}` : `#/compare/${other}/${id}`;
}

/** Opening an exchange can be undone with the browser's Back; moving through the list adds no history. */
export function go(to, deeper) {
  if (path(place()) === path(to)) return;
  if (deeper) history.pushState(null, "", path(to));
  else history.replaceState(null, "", path(to));
}

/** A link for sharing. It has no token, so it is read-only. */
export function shareLink(id) {
  return `${location.origin}${location.pathname}#/exchanges/${id}`;
}
