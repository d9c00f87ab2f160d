import BywayPrimitives

/// A notice to the service manager, in its format (sd_notify(3)).
enum ServiceNotice: Sendable, Hashable {
  case ready(status: String)
  /// - Parameter since: The time of ``MonotonicClock``, by which the manager knows which of several reloads has ended.
  case reloading(since: UInt64)
  /// - Parameter patience: The time that running requests may still take, in microseconds.
  case stopping(within: Int64)
  case status(String)
  case alive

  /// The text, with one assignment on each line.
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
