import Byway
import BywayPrimitives
import BywayTerminal
import HTTPTypes
import NIOCore

/// The text that `-w` writes after a response, with curl's names.
struct WriteOut: Sendable {
  private enum Part: Sendable {
    case text(String)
    case variable(String, @Sendable (TransferFacts) -> String)
  }

  private let parts: [Part]

  /// - Throws: ``CommandFailure`` if a variable is unknown.
  init(_ format: String) throws(CommandFailure) {
    var parts: [Part] = []
    var rest = format[...]
    while let next = rest.firstIndex(where: { $0 == "%" || $0 == "\\" }) {
      parts.append(.text(String(rest[..<next])))
      rest = rest[next...]
      if let (text, length) = Self.escape(rest) {
        parts.append(.text(text))
        rest = rest.dropFirst(length)
      } else if rest.hasPrefix("%header{") || rest.hasPrefix("%{"), let close = rest.firstIndex(of: "}") {
        let isField = rest.hasPrefix("%h")
        let name = String(rest[..<close].drop { $0 != "{" }.dropFirst())
        parts.append(.variable(name, try isField ? Self.field(name) : Self.variable(name)))
        rest = rest[rest.index(after: close)...]
      } else {
        parts.append(.text(String(rest.removeFirst())))
      }
    }
    self.parts = parts + [.text(String(rest))]
  }

  func write(_ facts: TransferFacts, to stream: StandardStream) {
    stream.writeText(text(facts, isForTerminal: stream.isTerminal))
  }

  /// - Parameter isForTerminal: Whether control characters from outside must be made visible.
  func text(_ facts: TransferFacts, isForTerminal: Bool) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .variable(_, let value): isForTerminal ? value(facts).visible : value(facts)
      }
    }.joined()
  }

  private static func escape(_ text: Substring) -> (String, Int)? {
    switch text.prefix(2) {
    case "\\n": ("\n", 2)
    case "\\t": ("\t", 2)
    case "\\r": ("\r", 2)
    case "\\\\": ("\\", 2)
    case "%%": ("%", 2)
    default: nil
    }
  }

  private static func field(_ name: String) throws(CommandFailure) -> @Sendable (TransferFacts) -> String {
    guard let name = HTTPField.Name(name) else {
      throw CommandFailure(
        .usage, "-w: \"\(name)\" is not a name of a field: write %header{content-type}, for example.")
    }
    return { $0.response?.headerFields[name] ?? "" }
  }

  private static func variable(_ name: String) throws(CommandFailure) -> @Sendable (TransferFacts) -> String {
    if let value = variables[name] { return value }
    throw CommandFailure(
      .usage, "-w: %{\(name)} is unknown.\(Spelling.hint(for: name, among: variables.keys.sorted()))")
  }

  private static let variables: [String: @Sendable (TransferFacts) -> String] = [
    "content_type": { $0.response?.headerFields[.contentType] ?? "" },
    "filename_effective": { $0.file ?? "" },
    "http_code": { code($0) },
    "http_version": { $0.framing.rawValue },
    "method": { $0.request.method.rawValue },
    "num_redirects": { "\($0.redirects)" },
    "response_code": { code($0) },
    "size_download": { "\($0.received)" },
    "size_upload": { "\($0.sent)" },
    "speed_download": { Decimal.text(Double($0.received) / max(seconds($0.total), 1e-6), digits: 0) },
    "time_starttransfer": { time($0.firstByte) },
    "time_total": { time($0.total) },
    "url": { $0.url },
    "url_effective": { $0.lastURL },
  ]

  private static func code(_ facts: TransferFacts) -> String {
    String(facts.response?.status.code ?? 0, digits: 3)
  }

  private static func time(_ time: TimeAmount) -> String { Decimal.text(seconds(time), digits: 6) }
  private static func seconds(_ time: TimeAmount) -> Double { Double(time.nanoseconds) / 1e9 }
}
