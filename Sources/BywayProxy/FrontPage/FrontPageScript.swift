/// The script of the list of devices: it follows changes and searches.
enum FrontPageScript {
  /// After a change, the script loads the page again and takes its rows, so that rows are written in one place. Unchanged rows stay, with
  /// their focus.
  static let text = """
    "use strict";
    const byId = (id) => document.getElementById(id);
    const body = document.querySelector("tbody");
    // For fewer devices, a search is no help.
    const SEARCHED = 6;

    function localTimes(part) {
      for (const time of part.querySelectorAll("time")) time.textContent = new Date(time.dateTime).toLocaleString();
    }

    function prepare(row) {
      row.source = row.outerHTML;
      row.words = row.textContent.toLowerCase();
      localTimes(row);
      return row;
    }

    function states() {
      const select = byId("state");
      const found = new Map();
      for (const row of body.rows) found.set(row.dataset.state, row.querySelector(".state").textContent);
      if (select.value && !found.has(select.value)) found.set(select.value, select.selectedOptions[0].textContent);
      const options = [["", "any"], ...[...found].sort(([, a], [, b]) => (a < b ? -1 : 1))];
      const key = JSON.stringify(options);
      if (key === select.dataset.key) return;
      select.dataset.key = key;
      const chosen = select.value;
      select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
      select.value = chosen;
    }

    function filter() {
      const words = byId("find").value.toLowerCase().split(/\\s+/).filter((word) => word !== "" && word !== "-");
      const state = byId("state").value;
      const all = body.rows.length;
      let shown = 0;
      for (const row of body.rows) {
        const passes = (state === "" || row.dataset.state === state)
          && words.every((word) => (word.startsWith("-") ? !row.words.includes(word.slice(1)) : row.words.includes(word)));
        row.hidden = !passes;
        if (passes) shown += 1;
      }
      const isFiltered = words.length > 0 || state !== "";
      byId("search").hidden = all < SEARCHED && !isFiltered;
      const text = !isFiltered ? "" : shown === 0 ? "No device matches." : `${shown} of ${all} devices`;
      if (byId("found").textContent !== text) byId("found").textContent = text;
    }

    function take(page) {
      const rows = [...page.querySelector("tbody").rows];
      const kept = new Set(rows.map((row) => row.dataset.key));
      for (const row of [...body.rows]) if (!kept.has(row.dataset.key)) row.remove();
      const known = new Map([...body.rows].map((row) => [row.dataset.key, row]));
      const focused = document.activeElement?.closest?.("tr")?.dataset.key;
      let place = body.firstElementChild;
      for (const row of rows) {
        const before = known.get(row.dataset.key);
        if (before?.source === row.outerHTML) {
          if (before === place) place = place.nextElementSibling;
          else body.insertBefore(before, place);
          continue;
        }
        const now = prepare(document.adoptNode(row));
        if (before !== undefined && before === place) place = place.nextElementSibling;
        before?.remove();
        body.insertBefore(now, place);
        if (focused !== undefined && focused === now.dataset.key) now.querySelector("a").focus();
      }
      byId("begin").replaceChildren(...page.getElementById("begin").childNodes);
      byId("hubs").replaceChildren(...page.getElementById("hubs").childNodes);
      localTimes(byId("hubs"));
      document.querySelector("table").hidden = body.rows.length === 0;
      states();
      filter();
    }

    let isLoading = false;
    let isOld = false;
    async function refresh() {
      isOld = true;
      if (isLoading) return;
      isLoading = true;
      try {
        while (isOld) {
          isOld = false;
          const response = await fetch("/");
          if (response.ok) take(new DOMParser().parseFromString(await response.text(), "text/html"));
        }
      } catch {
        // The events report a proxy that does not answer.
      } finally {
        isLoading = false;
      }
    }

    for (const row of body.rows) prepare(row);
    localTimes(byId("hubs"));
    states();
    filter();
    byId("search").addEventListener("input", filter);
    byId("search").addEventListener("submit", (event) => event.preventDefault());
    const events = new EventSource("/events");
    // The first event may already differ from the page.
    events.onmessage = () => { refresh(); };
    events.onerror = () => { byId("live").textContent = "The proxy does not answer."; };
    events.onopen = () => { byId("live").textContent = ""; };

    """
}
