import Primitives

/// The HTML page of the list of devices. It is complete without scripts; with them it follows changes.
enum FrontPageText {
  static func html(_ listing: DeviceListing) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Devices</title>
    <link rel="stylesheet" href="/devices.css">
    <script src="/devices.js" defer></script>
    </head>
    <body>
    <main>
    <h1>Devices</h1>
    <p id="none"\(listing.devices.isEmpty ? "" : " hidden")>There are no devices yet.</p>
    <table\(listing.devices.isEmpty ? " hidden" : "")>
    <thead><tr><th scope="col">Device</th><th scope="col">State</th>\
    <th scope="col">Link</th><th scope="col">Last seen</th></tr></thead>
    <tbody>
    \(listing.devices.map(row).joined(separator: "\n"))
    </tbody>
    </table>
    <p id="live" role="status"></p>
    </main>
    </body>
    </html>

    """
  }

  private static func row(_ device: DeviceListing.Device) -> String {
    let title = (device.title ?? device.name ?? "Default device").escapedForHTML
    let name = device.title == nil ? "" : device.name.map { " <small>\($0.escapedForHTML)</small>" } ?? ""
    let reason = device.reason.map { " <small>\($0.escapedForHTML)</small>" } ?? ""
    let seen =
      device.lastSeen.map { CalendarTime(secondsSinceEpoch: $0).utc }
      .map { "<time datetime=\"\($0)\">\($0)</time>" }
      ?? (device.state == .link(.up) ? "now" : "never")
    let links = device.links.map { "<code>\($0.escapedForHTML)</code>" }.joined(separator: "<br>")
    return """
      <tr data-state="\(device.state.text)"><th scope="row"><a href="\(device.url.escapedForHTML)">\(title)</a>\(name)</th>\
      <td><span class="state">\(words(device.state))</span>\(reason)</td><td>\(links)</td><td>\(seen)</td></tr>
      """
  }

  private static func words(_ state: DeviceListing.State) -> String {
    switch state {
    case .link(.idle): "not used yet"
    case .link(.opening): "opening"
    case .link(.up): "up"
    case .link(.interrupted): "interrupted"
    case .link(.closed): "closed, opens on request"
    case .link(.down): "down"
    case .link(.waiting): "waiting for its gateway"
    case .away: "unplugged"
    case .unavailable: "in use"
    }
  }

  static let style = """
    :root { color-scheme: light dark }
    body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 }
    main { max-width: 60rem; margin: 8vh auto; padding: 0 1rem }
    table { border-collapse: collapse; width: 100% }
    th, td { text-align: left; vertical-align: top; padding: 0.5rem 1rem 0.5rem 0; border-bottom: 1px solid #8885 }
    tbody th { font-weight: inherit }
    tbody a { font-weight: 600 }
    small { display: block; opacity: 0.75 }
    code { overflow-wrap: anywhere }
    .state::before { content: ""; display: inline-block; width: 0.6em; height: 0.6em; border-radius: 50%; margin-right: 0.5em;
      background: #8888 }
    [data-state="up"] .state::before { background: #2a8f3f }
    [data-state="down"] .state::before, [data-state="interrupted"] .state::before,
    [data-state="unavailable"] .state::before { background: #c5372c }
    @media (max-width: 40rem) { thead { display: none } th, td { display: block; border: 0; padding: 0.1rem 0 } tr { display: block;
      padding: 0.6rem 0; border-bottom: 1px solid #8885 } }

    """

  /// Reloads the page after a change and takes its rows, so that rows are written in one place.
  static let script = """
    "use strict";
    function localTimes() {
      for (const time of document.querySelectorAll("time")) time.textContent = new Date(time.dateTime).toLocaleString();
    }
    async function refresh() {
      const response = await fetch("/");
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const focused = document.activeElement && document.activeElement.href;
      document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
      localTimes();
      for (const link of document.links) if (link.href === focused) link.focus();
    }
    const events = new EventSource("/events");
    let isFirst = true;
    events.onmessage = () => { if (isFirst) isFirst = false; else refresh(); };
    events.onerror = () => { isFirst = false; document.getElementById("live").textContent = "The proxy does not answer."; };
    events.onopen = () => { document.getElementById("live").textContent = ""; };
    localTimes();

    """
}
