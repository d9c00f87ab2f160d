import Testing

@testable import BywayPrimitives

/// The examples of FIPS 180-4, as NIST publishes them.
@Suite struct MessageDigestTests {
  /// A message, and its digests in hexadecimal digits.
  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let message: [UInt8]
    let sha1: String
    let sha256: String
  }

  static let examples = [
    Example(
      testDescription: "no bytes", message: [], sha1: "da39a3ee5e6b4b0d3255bfef95601890afd80709",
      sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    Example(
      testDescription: "three bytes", message: Array("abc".utf8), sha1: "a9993e364706816aba3e25717850c26c9cd0d89d",
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    Example(
      testDescription: "two blocks",
      message: Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
      sha1: "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
      sha256: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
    Example(
      testDescription: "a million bytes", message: Array(repeating: UInt8(ascii: "a"), count: 1_000_000),
      sha1: "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
      sha256: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
  ]

  @Test("computes the published digests", arguments: examples)
  func published(_ example: Example) {
    #expect(Hex.text(MessageDigest.sha1(of: example.message)) == example.sha1)
    #expect(Hex.text(MessageDigest.sha256(of: example.message)) == example.sha256)
    #expect(MessageDigest.sha256(of: example.message).count == MessageDigest.sha256Length)
  }
}
