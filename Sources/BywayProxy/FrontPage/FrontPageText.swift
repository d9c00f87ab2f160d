import BywayDevices
import BywayPrimitives

/// The HTML page of the list of devices. It is complete without scripts; with them it follows changes and can be searched.
enum FrontPageText {
  static func html(_ listing: DeviceListing) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Devices</title>
    <link rel="stylesheet" href="/devices.css">
    <script src="/devices.js" defer></script>
    </head>
    <body>
    <main aria-label="Devices">
    <h1>Devices</h1>
    <form id="search" role="search" aria-label="Devices" hidden>
    <label for="find">Search</label>
    <input type="search" id="find" placeholder="words, -without" autocomplete="off" spellcheck="false">
    <label for="state">State</label>
    <select id="state"><option value="">any</option></select>
    </form>
    <div id="begin">\(listing.devices.isEmpty ? begin(listing.beginning) : "")</div>
    <table role="table" aria-label="Devices"\(listing.devices.isEmpty ? " hidden" : "")>
    <thead role="rowgroup"><tr role="row"><th role="columnheader">Device</th><th role="columnheader">State</th>\
    <th role="columnheader">Link</th><th role="columnheader">Last seen</th></tr></thead>
    <tbody role="rowgroup">
    \(listing.devices.map(row).joined(separator: "\n"))
    </tbody>
    </table>
    <p id="found" role="status"></p>
    <div id="hubs">\(listing.hubs.map(hub).joined(separator: "\n"))</div>
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
    let remedy = device.remedy.map { " <small>Run: \(code($0))</small>" } ?? ""
    let seen =
      device.lastSeen.map { CalendarTime(secondsSinceEpoch: $0).utc }
      .map { "<time datetime=\"\($0)\">\($0)</time>" }
      ?? (device.state == .link(.up) ? "now" : "never")
    let links = device.links.map { "<div>\(code($0.address))\(words($0.use))</div>" }.joined()
    let url = device.url.escapedForHTML
    return """
      <tr role="row" data-key="\(url)" data-state="\(device.state.text)">\
      <th role="rowheader"><a href="\(url)">\(title)</a>\(name)</th>\
      <td role="cell"><span class="state">\(words(device.state))</span>\(reason)\(remedy)</td>\
      <td role="cell">\(links)</td><td role="cell"><span class="label">Last seen </span>\(seen)</td></tr>
      """
  }

  // MARK: Hubs

  private static func hub(_ hub: HubReport) -> String {
    let gateways = hub.gateways == 1 ? "1 gateway is connected" : "\(hub.gateways) gateways are connected"
    let refusals = hub.refusals.map { "<li>\(refusal($0))</li>" }.joined(separator: "\n")
    let list = refusals.isEmpty ? "" : "\n<h3>Refused lately</h3>\n<ul>\n\(refusals)\n</ul>"
    return "<h2>Hub \(code(hub.address))</h2>\n<p>\(gateways).</p>\(list)"
  }

  private static func refusal(_ refusal: HubReport.Refusal) -> String {
    let peer = (refusal.refusal.address ?? "this machine").escapedForHTML
    let names = refusal.refusal.names.map { code($0) }.joined(separator: " ")
    let time = CalendarTime(secondsSinceEpoch: refusal.at).utc
    let count = refusal.count == 1 ? "" : "\(refusal.count) times, last "
    return """
      <strong>\(peer)</strong>\(names.isEmpty ? "" : ", certificate for \(names)")<br>\(refusal.refusal.reason.escapedForHTML)\
      <br><small>\(count)<time datetime="\(time)">\(time)</time></small>
      """
  }

  /// The text as code that can break after the separators of an address.
  private static func code(_ text: String) -> String {
    let parts = text.reduce(into: [""]) { parts, character in
      parts[parts.count - 1].append(character)
      if "/:@,?&".contains(character) { parts.append("") }
    }
    return "<code>\(parts.map(\.escapedForHTML).joined(separator: "<wbr>"))</code>"
  }

  private static func words(_ use: DeviceListing.Link.Use) -> String {
    switch use {
    case .unknown: ""
    case .inUse: " <span class=\"use\">in use</span>"
    case .ready: " <small>ready</small>"
    case .down: " <small>down</small>"
    }
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

  // MARK: Without devices

  private static func begin(_ beginning: Beginning?) -> String {
    let first = "<p>There are no devices yet.</p>"
    guard let beginning else { return first }
    let urls = beginning.urls.map {
      "<p>A name of this form is a device without further settings. Open <code>\($0.escapedForHTML)</code></p>"
    }
    let steps = beginning.steps.map { "<p>\($0.text.escapedForHTML)</p>\n<pre>\($0.command.escapedForHTML)</pre>" }
    return ([first] + urls + steps + [ports(beginning)]).joined(separator: "\n")
  }

  private static func ports(_ beginning: Beginning) -> String {
    guard let ports = beginning.ports else { return "" }
    let items = ports.map { port in
      let name = port.name.map { " \($0.escapedForHTML)" } ?? ""
      return """
        <li><strong>\(port.device.escapedForHTML)</strong>\(name)<br>\(code(port.address))<br>\(port.reason.escapedForHTML) \
        To examine it, run \(code(port.command))</li>
        """
    }
    let list =
      items.isEmpty
      ? "<p>\((beginning.noPorts ?? "").escapedForHTML)</p>" : "<ul>\n\(items.joined(separator: "\n"))\n</ul>"
    return "<h2>Ports of this machine</h2>\n\(list)"
  }
}
