extension StringProtocol {
  /// The text without the spaces and tabs at both ends, which are not part of a value in most protocols and files (RFC 9110
  /// §5.6.3).
  package var trimmed: String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    let bytes = Array(utf8.drop(while: isBlank))
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
    return String(decoding: bytes[..<end], as: UTF8.self)
  }
}

extension String {
  /// The same, but without a copy if there is nothing to remove, as with most texts.
  package var trimmed: String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    guard let first = utf8.first, let last = utf8.last, isBlank(first) || isBlank(last) else { return self }
    return self[...].trimmed
  }
}
