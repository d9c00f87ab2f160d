import Foundation
import Testing

@testable import BywayLineLayer

/// A block of `key: value` lines from a file in `Vectors`.
struct Vector: Sendable, CustomTestStringConvertible {
  let values: [String: String]

  var name: String { values["name"] ?? "" }
  var testDescription: String { name }

  func bytes(_ key: String) -> [UInt8] { Self.bytes(values[key] ?? "") }

  var seal: SessionID? {
    guard let text = values["seal"], text != "-" else { return nil }
    let bytes = Self.bytes(text)
    return SessionID(session: Self.number(bytes[..<4]), incarnation: Self.number(bytes[4...]))
  }

  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Vectors")

  /// Reads all vectors of a file. If it cannot be read there are none, which a test notices.
  static func all(in file: String) -> [Vector] {
    let text = (try? String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)) ?? ""
    return text.components(separatedBy: "\n\n").compactMap { block in
      let lines = block.split(separator: "\n").filter { !$0.hasPrefix("#") }
      let pairs = lines.map { line -> (String, String) in
        let parts = line.components(separatedBy: ": ")
        return (parts[0], parts.count > 1 ? parts[1] : "")
      }
      return pairs.isEmpty ? nil : Vector(values: Dictionary(uniqueKeysWithValues: pairs))
    }
  }

  static func bytes(_ text: String) -> [UInt8] {
    let digits = text.utf8.map { UInt8($0 < 0x3A ? $0 - 0x30 : $0 - 0x57) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

  /// The frame of the line `frame`.
  var frame: Frame? { Self.frame(values["frame"] ?? "") }

  /// Frames of a line with several.
  var frames: [Frame] { (values["frames"] ?? "").components(separatedBy: "; ").compactMap(Self.frame) }

  private static func frame(_ text: String) -> Frame? {
    let words = text.split(separator: " ").map(String.init)
    let fields = Dictionary(
      uniqueKeysWithValues: words.dropFirst().map { word in
        let parts = word.components(separatedBy: "=")
        return (parts[0], parts[1])
      })
    func number<Number: FixedWidthInteger>(_ key: String, radix: Int = 10) -> Number {
      Number(fields[key] ?? "0", radix: radix) ?? 0
    }
    func numbers(_ key: String) -> [UInt16] { (fields[key] ?? "").split(separator: ",").compactMap { UInt16($0) } }
    func bytes(_ key: String) -> [UInt8] { Self.bytes(fields[key] ?? "") }
    func report(_ answer: Acknowledgement.Answer?) -> Frame {
      .acknowledgement(
        Acknowledgement(
          answer: answer,
          arrivals: Arrivals(next: number("next"), runs: numbers("runs")), window: number("window")))
    }
    switch words.first {
    case "hello":
      return .hello(
        version: number("version"), incarnation: number("incarnation", radix: 16), largestPayload: number("largest"),
        correction: number("correction"), streams: StreamOffer(count: number("streams"), credit: number("credit")))
    case "open":
      let id = SessionID(session: number("session", radix: 16), incarnation: number("incarnation", radix: 16))
      return .open(
        version: number("version"), session: id, largestPayload: number("largest"), window: number("window"),
        correction: number("correction"), streams: StreamOffer(count: number("streams"), credit: number("credit")))
    case "reset":
      let names = ["finished", "unknown", "aborted", "silence", "version", "both-dial"]
      let code = names.firstIndex(of: fields["reason"] ?? "").flatMap { ResetReason(rawValue: UInt8($0)) }
      return code.map { .reset(session: number("session", radix: 16), reason: $0) }
    case "poll": return .poll(session: number("session", radix: 16), token: number("token"))
    case "ack": return report(nil)
    case "answer": return report(.init(token: number("token"), delay: number("delay")))
    case "noise": return .noise(Noise(code: number("level")))
    case "data":
      let header = DataHeader(
        number: number("number"), next: fields["next"] == nil ? nil : number("next"), isLast: fields["last"] == "yes")
      return .data(header, payload: bytes("payload")[...])
    default: return nil
    }
  }
}
