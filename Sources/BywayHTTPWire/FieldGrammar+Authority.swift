extension FieldGrammar {
  /// Whether the bytes are an ``Authority``.
  package static func isAuthority(_ bytes: UnsafeRawBufferPointer, needsPort: Bool = false) -> Bool {
    guard let spelling = try? AuthoritySpelling(bytes) else { return false }
    return !needsPort || spelling.port != nil
  }

  /// Whether the bytes are a scheme (RFC 3986 §3.1).
  package static func isScheme(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.first, (first | 0x20) &- 0x61 < 26 else { return false }
    return bytes.allSatisfy { ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0) }
  }
}
