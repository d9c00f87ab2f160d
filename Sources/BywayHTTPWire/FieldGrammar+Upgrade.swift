/// The protocols of an `Upgrade` field (RFC 9110 §7.8), and requests that open a tunnel without one.
extension FieldGrammar {
  /// Whether the bytes are the name of a protocol, optionally with a slash and a version.
  package static func isProtocol(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return isToken(bytes) }
    return isToken(.init(rebasing: bytes[..<slash])) && isToken(.init(rebasing: bytes[(slash + 1)...]))
  }

  /// Whether the protocol is only another way to carry the same request: another version of HTTP, or TLS underneath. Clients
  /// offer these with ordinary requests and expect an ordinary response. RFC 9113 §3.1 has removed the offer of `h2c`.
  package static func carriesHTTP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let slash = bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
    let name = UnsafeRawBufferPointer(rebasing: bytes[..<slash])
    return isH2C(name) || equal(name, lowercased: "http") || equal(name, lowercased: "tls")
  }

  package static func isH2C(_ bytes: UnsafeRawBufferPointer) -> Bool { equal(bytes, lowercased: "h2c") }

  /// Whether a path ends in `/exec/ID/start`, where ID has 64 hexadecimal digits: the start of a command in the API of Docker and podman.
  package static func isExecStart(_ path: UnsafeRawBufferPointer) -> Bool {
    let (before, after): (StaticString, StaticString) = ("/exec/", "/start")
    guard path.count >= before.utf8CodeUnitCount + 64 + after.utf8CodeUnitCount else { return false }
    let path = path.prefix { $0 != UInt8(ascii: "?") }
    let id = path.dropLast(after.utf8CodeUnitCount).suffix(64)
    return id.count == 64 && id.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }
      && path[id.endIndex...].elementsEqual(UnsafeBufferPointer(start: after.utf8Start, count: after.utf8CodeUnitCount))
      && path[..<id.startIndex].suffix(before.utf8CodeUnitCount).elementsEqual(
        UnsafeBufferPointer(start: before.utf8Start, count: before.utf8CodeUnitCount))
  }
}
