import Byway
import BywayPrimitives
import BywayTerminal

/// The state of this machine in at most ten lines: the daemons, the adapters, and commands that make sense now.
struct Overview {
  /// A daemon, and its answer.
  enum Daemon {
    case status(JSON)
    case silent(name: String, reason: String)
  }

  /// The lines for daemons, and those for adapters. With three commands and their heading there are at most ten.
  private static let groupLimit = 3

  private let daemons: [Daemon]
  private let adapters: [LinkPort]
  private let hints: [OverviewHint]
  private let style: TextStyle

  /// - Parameters:
  ///   - ports: The ports of this machine. Only those of adapters are shown, as others are never plugged in.
  ///   - service: Whether systemd can start the installed proxy for adapters.
  ///   - isRoot: Whether commands for the system need no sudo.
  init(_ daemons: [Daemon], ports: [LinkPort], service: Bool, isRoot: Bool, style: TextStyle) {
    self.daemons = daemons
    self.style = style
    adapters = ports.filter { $0.name != nil || $0.address.hasPrefix("serial:usb:") }
    let unused = adapters.first { Self.user(of: $0, daemons) == nil && $0.unavailableReason == nil }
    hints = OverviewHint.all(
      daemons, adapter: adapters.first, unused: unused, service: service, isRoot: isRoot)
  }

  var lines: [String] {
    daemonLines + adapterLines + ["Next:"] + TextColumns.lines(hints.map { ["  \($0.command)", $0.purpose] }).lines
  }

  private var daemonLines: [String] {
    guard !daemons.isEmpty else { return ["No gateway or proxy runs here."] }
    let lines = daemons.map { daemon in
      switch daemon {
      case .status(let status): StatusText(status, now: 0, style: style).summary
      case .silent(let name, let reason): "\(style.bold(name.visible)): \(reason.visible)"
      }
    }
    return Self.shortened(lines, "more daemons: byway status")
  }

  private var adapterLines: [String] {
    guard !adapters.isEmpty else { return ["No USB adapter is plugged in."] }
    let rows = adapters.map { port in
      [port.address, port.name ?? "", Self.user(of: port, daemons) ?? port.unavailableReason ?? doubt]
    }
    return Self.shortened(TextColumns.lines(rows).lines, "more adapters: byway ports")
  }

  /// The facts about an adapter that no daemon names. A daemon that did not answer may use it.
  private var doubt: String {
    daemons.contains { if case .silent = $0 { true } else { false } } ? "" : "no daemon uses it"
  }

  /// The daemon, and the device, whose link leads to a port.
  private static func user(of port: LinkPort, _ daemons: [Daemon]) -> String? {
    for case .status(let status) in daemons {
      for link in status.memberLinks where port.isReached(by: link["name"]?.text ?? "") {
        let device = link["device"]?.text.map { "device \($0.visible) of " } ?? "link of "
        return device + (status["name"]?.text ?? "?").visible
      }
    }
    return nil
  }

  private static func shortened(_ lines: [String], _ rest: String) -> [String] {
    guard lines.count > groupLimit else { return lines }
    return lines.prefix(groupLimit - 1) + ["and \(lines.count - groupLimit + 1) \(rest)"]
  }
}

extension String {
  fileprivate var lines: [String] { split(separator: "\n").map(String.init) }
}

extension JSON {
  /// The links of a daemon's members; of a device with several links, each of them.
  var memberLinks: [JSON] {
    (self["members"]?.elements ?? []).flatMap { $0["links"]?.elements ?? [] }.flatMap { link -> [JSON] in
      guard let links = link["links"]?.elements else { return [link] }
      return links.map { ["name": $0["name"], "state": $0["state"], "device": link["device"]] }
    }
  }
}

extension LinkPort {
  /// Whether a link's address, without options, leads to this port.
  fileprivate func isReached(by link: String) -> Bool {
    if link == address || link == "serial:\(device)" || address.hasPrefix("\(link)?") { return true }
    // A configured link may leave out the serial number.
    if link.hasPrefix("serial:usb:") { return address.hasPrefix("\(link):") }
    guard link.hasPrefix("serial:/"), let path = try? SymbolicLink.resolved(String(link.dropFirst(7))) else {
      return false
    }
    return path == device
  }
}
