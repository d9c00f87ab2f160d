import BywayPrimitives
import Crypto
import HTTPTypes
package import NIOCore

/// The encoding of a stored head: a version, the parts, and a checksum of all of it.
extension StoredResponse {
  /// Returns the version for a kind of cache. They differ, so that a shared cache cannot read what a private one has stored.
  private static func version(_ kind: CacheKind) -> UInt32 {
    switch kind {
    case .private: 0x4259_5750
    case .shared: 0x4259_5753
    }
  }

  package func encoded(in kind: CacheKind) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeInteger(Self.version(kind))
    bytes.writeInteger(id)
    bytes.writeInteger(Int64(status))
    bytes.writeInteger(Int64(length))
    for time in [requested, received] {
      bytes.writeInteger(time.sinceEpoch.components.seconds)
      bytes.writeInteger(time.sinceEpoch.components.attoseconds)
    }
    bytes.writeText(key)
    bytes.writeInteger(UInt32(fields.count))
    for field in fields {
      bytes.writeText(field.name.rawName)
      bytes.writeText(field.value)
    }
    bytes.writeInteger(UInt32(selecting.count))
    for (name, value) in selecting.sorted(by: { $0.key < $1.key }) {
      bytes.writeText(name)
      bytes.writeInteger(UInt8(value == nil ? 0 : 1))
      bytes.writeText(value ?? "")
    }
    bytes.writeBytes(Self.checksum(bytes))
    return bytes
  }

  /// Returns `nil` if the bytes are damaged, or of another version.
  package init?(encoded bytes: ByteBuffer, in kind: CacheKind) {
    var bytes = bytes
    guard let body = bytes.readSlice(length: max(bytes.readableBytes - SHA256.byteCount, 0)),
      Self.checksum(body) == Array(bytes.readableBytesView)
    else { return nil }
    var rest = body
    guard rest.readInteger(as: UInt32.self) == Self.version(kind), let id = rest.readInteger(as: UInt64.self),
      // The next response gets a higher number.
      id < .max,
      let status = rest.readInteger(as: Int64.self), (100..<1000).contains(status),
      let length = rest.readInteger(as: Int64.self), length >= 0,
      let requested = rest.readTime(), let received = rest.readTime(), let key = rest.readText(),
      let fieldCount = rest.readInteger(as: UInt32.self)
    else { return nil }
    var fields = HTTPFields()
    for _ in 0..<fieldCount {
      guard let name = rest.readText().flatMap({ HTTPField.Name($0) }), let value = rest.readText() else { return nil }
      fields.append(HTTPField(name: name, value: value))
    }
    guard let selectingCount = rest.readInteger(as: UInt32.self) else { return nil }
    var selecting: [String: String?] = [:]
    for _ in 0..<selectingCount {
      guard let name = rest.readText(), let flag = rest.readInteger(as: UInt8.self), let value = rest.readText() else {
        return nil
      }
      selecting.updateValue(flag == 0 ? nil : value, forKey: name)
    }
    self.init(
      id: id, key: key, status: Int(status), fields: fields, selecting: selecting, requested: requested,
      received: received, length: Int(length))
  }

  private static func checksum(_ bytes: ByteBuffer) -> [UInt8] {
    bytes.withUnsafeReadableBytes { Array(SHA256.hash(data: $0)) }
  }
}

extension ByteBuffer {
  fileprivate mutating func writeText(_ text: String) {
    writeInteger(UInt32(text.utf8.count))
    writeString(text)
  }

  fileprivate mutating func readText() -> String? {
    readInteger(as: UInt32.self).flatMap { readString(length: Int($0)) }
  }

  /// The valid times: from 1970 to the end of the year 9999. Arithmetic with a later time could overflow.
  private static let secondsOfTheCalendar: Range<Int64> = 0..<253_402_300_800

  fileprivate mutating func readTime() -> WallTime? {
    guard let seconds = readInteger(as: Int64.self), let attoseconds = readInteger(as: Int64.self),
      Self.secondsOfTheCalendar.contains(seconds), (0..<1_000_000_000_000_000_000).contains(attoseconds)
    else { return nil }
    return WallTime(sinceEpoch: Duration(secondsComponent: seconds, attosecondsComponent: attoseconds))
  }
}
