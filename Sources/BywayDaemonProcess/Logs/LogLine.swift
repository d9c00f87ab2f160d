package import BywayPrimitives
package import Logging

/// A line of a daemon's log. Text from outside cannot break the line, nor control a terminal that shows it.
package struct LogLine {
  let time: WallTime
  let level: Logger.Level
  let label: String
  let message: String
  let metadata: [(name: String, value: String)]

  package init(
    time: WallTime, level: Logger.Level, label: String, message: String, metadata: [(name: String, value: String)]
  ) {
    self.time = time
    self.level = level
    self.label = label
    self.message = message
    self.metadata = metadata
  }

  package func bytes(_ format: LogFormat) -> [UInt8] {
    switch format {
    case .text: Array("\(time.timestamp) \(level.rawValue) \(text)\n".utf8)
    case .journal: Array("<\(priority)>\(text)\n".utf8)
    case .json: json
    }
  }

  private var text: String {
    metadata.reduce("\(label): \(message.visible)") { $0 + " \($1.name.visible)=\(Self.quoted($1.value))" }
  }

  /// Returns plain words unchanged, and other text in quotation marks.
  private static func quoted(_ value: String) -> String {
    let text = value.visible
    let isPlain = !text.isEmpty && !text.unicodeScalars.contains { $0 == " " || $0 == "\"" || $0 == "=" || $0 == "\\" }
    if isPlain { return text }
    return "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }

  /// The priority of syslog (RFC 5424 §6.2.1).
  private var priority: Int {
    switch level {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }

  private var json: [UInt8] {
    let object: JSON = [
      "time": .string(time.timestamp), "level": .string(level.rawValue), "logger": .string(label),
      "message": .string(message),
      "metadata": .object(metadata.map { JSON.Member($0.name, .string($0.value)) }),
    ]
    var bytes: [UInt8] = []
    object.write(to: &bytes)
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }
}
