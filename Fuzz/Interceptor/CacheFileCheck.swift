import BywayInterceptors
import BywayPrimitives
import Crypto
public import FuzzSupport
import HTTPTypes
import NIOCore

/// The properties of any head in a cache's folder. A program that can write there can also write a valid checksum.
public enum CacheFileCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    var bytes = ByteBuffer(bytes: input)
    guard read(bytes) == nil else { throw Violation("a checksum out of nowhere") }
    bytes.writeBytes(Array(SHA256.hash(data: input)))
    guard let stored = read(bytes) else { return }
    try expect(read(stored.encoded(in: .private)) == stored, "\(stored) is read again as another")
    try expect(stored.id < .max, "there is no number for the next response")
    try expect(stored.fields.count * 8 <= input.count, "\(stored.fields.count) fields of \(input.count) bytes")
    let request = HTTPRequest(method: .get, scheme: "http", authority: "device", path: "/")
    let now = WallTime(sinceEpoch: .seconds(1_800_000_000))
    // No time in it, however absurd, overflows the arithmetic of the clock.
    _ = stored.age(at: now).components
    for kind in [CacheKind.private, .shared] {
      _ = CacheRules(kind: kind).decision(for: request, stored: stored, now: now)
    }
  }

  private static func read(_ bytes: ByteBuffer) -> StoredResponse? {
    StoredResponse(encoded: bytes, in: .private)
  }
}
