/// Reads the few parts of a certificate that NIOSSL does not give, in the form that RFC 5280 §4.1 and X.690 say. Bounded by
/// its bytes, and never trusting a length.
struct DERReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  struct Element {
    let tag: UInt8
    /// Tag and length included.
    let whole: ArraySlice<UInt8>
    let content: ArraySlice<UInt8>
  }

  /// The next element; `nil` at the end, and where there is none.
  mutating func next() -> Element? {
    let start = rest.startIndex
    guard rest.count >= 2 else { return nil }
    let tag = rest[start]
    var length = Int(rest[start + 1])
    var contentStart = start + 2
    if length >= 0x80 {
      let count = length & 0x7F
      guard (1...4).contains(count), rest.count >= 2 + count else { return nil }
      length = rest[contentStart..<contentStart + count].reduce(0) { $0 << 8 | Int($1) }
      contentStart += count
    }
    guard length <= rest.endIndex - contentStart else { return nil }
    let end = contentStart + length
    defer { rest = rest[end...] }
    return Element(tag: tag, whole: rest[start..<end], content: rest[contentStart..<end])
  }
}

/// Subject and key of a certificate.
package struct CertificateParts {
  /// The common name, where there is one.
  let commonName: String?
  /// SubjectPublicKeyInfo, of which pins are made (RFC 7469 §2.4).
  package let publicKey: ArraySlice<UInt8>
  /// The whole of it, encoded.
  package let subject: ArraySlice<UInt8>

  private static let commonNameID: [UInt8] = [0x55, 0x04, 0x03]

  /// `nil` where the bytes are no certificate.
  package init?(_ certificate: [UInt8]) {
    var outer = DERReader(certificate[...])
    guard var signed = outer.next().map({ DERReader($0.content) }),
      var body = signed.next().map({ DERReader($0.content) }),
      var field = body.next()
    else { return nil }
    // The version, which may be missing, then serial number, algorithm, issuer, validity, subject, key.
    if field.tag == 0xA0, let serial = body.next() { field = serial }
    var fields: [DERReader.Element] = []
    while fields.count < 5, let next = body.next() { fields.append(next) }
    guard fields.count == 5 else { return nil }
    commonName = Self.commonName(in: fields[3].content)
    publicKey = fields[4].whole
    subject = fields[3].whole
  }

  private static func commonName(in subject: ArraySlice<UInt8>) -> String? {
    var names = DERReader(subject)
    while let set = names.next() {
      var pairs = DERReader(set.content)
      while var pair = pairs.next().map({ DERReader($0.content) }) {
        guard let id = pair.next(), id.content.elementsEqual(commonNameID), let value = pair.next() else { continue }
        return String(validating: value.content, as: UTF8.self)
      }
    }
    return nil
  }
}
