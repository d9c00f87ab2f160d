/// The retained message by which a gateway announces itself. The broker clears it when the gateway's connection is lost.
enum Presence: Sendable, Hashable {
  /// No gateway is connected.
  case absent
  /// A gateway is connected; each run has another name.
  case present(SessionName)
  /// A gateway is being stopped: it finishes its sessions, and accepts no others.
  case leaving(SessionName)
  /// The message is from another program.
  case foreign

  private static let start = "byway 1 "
  private static let end = " leaving"

  init(_ payload: [UInt8]) {
    guard !payload.isEmpty else {
      self = .absent
      return
    }
    self = .foreign
    guard payload.count <= 64, let text = String(validating: payload, as: UTF8.self), text.hasPrefix(Self.start) else {
      return
    }
    let rest = text.dropFirst(Self.start.count)
    if let run = SessionName(rest) {
      self = .present(run)
    } else if rest.hasSuffix(Self.end), let run = SessionName(rest.dropLast(Self.end.count)) {
      self = .leaving(run)
    }
  }

  /// The content of the message; empty without a gateway.
  var payload: [UInt8] {
    switch self {
    case .absent, .foreign: []
    case .present(let run): Array("\(Self.start)\(run)".utf8)
    case .leaving(let run): Array("\(Self.start)\(run)\(Self.end)".utf8)
    }
  }
}
