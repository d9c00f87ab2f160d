import Primitives

/// What a service manager is told, in its own words (sd_notify(3)).
enum ServiceNotice: Sendable, Hashable {
  case ready(status: String)
  /// - Parameter since: of ``MonotonicClock``, so that the manager knows which of several reloads has ended.
  case reloading(since: UInt64)
  /// - Parameter patience: in microseconds: what running requests may still need.
  case stopping(within: Int64)
  case status(String)
  case alive

  /// One assignment on each line.
  var text: String {
    switch self {
    case .ready(let status): "READY=1\nSTATUS=\(status.visible)"
    case .reloading(let since): "RELOADING=1\nMONOTONIC_USEC=\(since / 1000)"
    case .stopping(let patience): "STOPPING=1\nEXTEND_TIMEOUT_USEC=\(patience)"
    case .status(let status): "STATUS=\(status.visible)"
    case .alive: "WATCHDOG=1"
    }
  }
}
