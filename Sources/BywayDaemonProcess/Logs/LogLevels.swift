package import Logging
import Synchronization

/// The level and the format of this process's log. A change applies to all of its loggers from that moment on. Safe on any thread.
package enum LogLevels {
  /// Indexes in the lists of all levels and formats. They are atomic, as each event reads them.
  private static let level = Atomic(place(of: .info, in: LogLevel.allCases))
  private static let format = Atomic(place(of: .text, in: LogFormat.allCases))

  package static var current: Logger.Level { LogLevel.allCases[level.load(ordering: .relaxed)].level }
  package static var currentFormat: LogFormat { LogFormat.allCases[format.load(ordering: .relaxed)] }

  package static func set(_ level: LogLevel) {
    Self.level.store(place(of: level, in: LogLevel.allCases), ordering: .relaxed)
  }

  package static func set(_ format: LogFormat) {
    Self.format.store(place(of: format, in: LogFormat.allCases), ordering: .relaxed)
  }

  private static func place<Value: Equatable>(of value: Value, in all: [Value]) -> Int {
    all.firstIndex(of: value) ?? 0
  }
}
