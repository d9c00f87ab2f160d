// Where in the page we are, as the URL's fragment says, and the token that acts: it comes in the fragment and does not stay there.
//
//     #TOKEN   #TOKEN/exchanges/12   #/exchanges/12   #/compare/12/15   #/line

const STORED = "byway-token";
// Anything else in its place, as `#foo`, is not for this page.
const TOKEN = /^[0-9a-z]{16,64}$/;

export function token() {
  return sessionStorage.getItem(STORED) ?? undefined;
}

/** Takes the token out of the visible URL. */
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

/** Going deeper can be undone with the browser's Back; walking along the list leaves no trail. */
export function go(to, deeper) {
  if (path(place()) === path(to)) return;
  if (deeper) history.pushState(null, "", path(to));
  else history.replaceState(null, "", path(to));
}

/** A link to hand on: it has no token, so it shows and cannot act. */
export function shareLink(id) {
  return `${location.origin}${location.pathname}#/exchanges/${id}`;
}
