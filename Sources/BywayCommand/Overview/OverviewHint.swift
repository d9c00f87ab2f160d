import Byway
import BywayPrimitives

/// A command to try next, and its purpose.
struct OverviewHint: Hashable {
  let command: String
  let purpose: String

  private static let limit = 3

  init(_ command: String, _ purpose: String) {
    self.command = command
    self.purpose = purpose
  }

  /// Returns at most three, the last of which shows all commands.
  /// - Parameters:
  ///   - adapter: An adapter that is plugged in.
  ///   - unused: One that no known daemon uses, and that can be opened.
  static func all(
    _ daemons: [Overview.Daemon], adapter: LinkPort?, unused: LinkPort?, service: Bool, isRoot: Bool
  ) -> [OverviewHint] {
    let sudo = isRoot ? "" : "sudo "
    var hints: [OverviewHint] = []
    var statuses: [JSON] = []
    var isComplete = true
    for daemon in daemons {
      if case .status(let status) = daemon { statuses.append(status) } else { isComplete = false }
    }
    let proxies = statuses.filter { $0["kind"]?.text == "proxy" }
    hints += proxies.compactMap(page).prefix(1)
    if !isComplete, !isRoot { hints.append(OverviewHint("sudo byway", "also asks the daemons of the system")) }
    if let link = statuses.flatMap(\.memberLinks).first(where: { ["down", "interrupted"].contains($0["state"]?.text) })
    {
      hints.append(
        OverviewHint("byway doctor \((link["name"]?.text ?? "").visible)", "finds out what is wrong with this link"))
    }
    if isComplete, proxies.isEmpty, adapter != nil || daemons.isEmpty {
      hints.append(
        service
          ? OverviewHint(
            "\(sudo)systemctl enable --now byway-proxy@local", "makes each adapter a device in the browser")
          : OverviewHint("byway proxy --listen 8080 --discover serial", "makes each adapter a device in the browser"))
    }
    if isComplete, let unused {
      hints.append(OverviewHint("byway doctor \(unused.address.visible)", "examines this adapter"))
    }
    if daemons.isEmpty, adapter == nil { hints.append(OverviewHint("byway demo", "shows a link without any hardware")) }
    if !statuses.isEmpty { hints.append(OverviewHint("byway status", "shows links, origins and requests")) }
    return hints.prefix(limit - 1) + [OverviewHint("byway help", "lists all commands")]
  }

  /// The command that opens a page through a proxy: of a device if it has one, otherwise that of its link, or the list of devices.
  private static func page(of proxy: JSON) -> OverviewHint? {
    guard let listens = proxy["members"]?.elements.first?["listens"]?.elements.first?.text?.visible else { return nil }
    let links = proxy.memberLinks
    let device =
      (links.first { $0["state"]?.text == "up" && $0["device"] != nil } ?? links.first { $0["device"] != nil })
    let name = device?["device"]?.text?.visible
    let host = name.map { "\($0).localhost" } ?? "localhost"
    let purpose =
      name.map { "is the page of \($0)" } ?? (links.isEmpty ? "lists the devices" : "is the page behind the link")
    if listens.hasPrefix("unix:/") {
      return OverviewHint("curl --unix-socket \(listens.dropFirst(5)) http://\(host)/", purpose)
    }
    guard let port = listens.split(separator: ":").last.flatMap({ UInt16($0) }) else { return nil }
    let isLocal =
      listens.hasPrefix("http://127.") || listens.hasPrefix("http://[::1]") || listens.hasPrefix("http://0.0.0.0:")
    return OverviewHint("curl " + (isLocal ? "http://\(host):\(port)/" : "\(listens)/"), purpose)
  }
}
