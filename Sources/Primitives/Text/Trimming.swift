extension StringProtocol {
  /// Without the spaces and tabs at both ends, which are no part of a value in most of what people and protocols write
  /// (RFC 9110 §5.6.3).
  package var trimmed: String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    let bytes = Array(utf8.drop(while: isBlank))
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
    return String(decoding: bytes[..<end], as: UTF8.self)
  }
}

extension String {
  /// Most often there is nothing to take away, and nothing to copy.
  package var trimmed: String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    guard let first = utf8.first, let last = utf8.last, isBlank(first) || isBlank(last) else { return self }
    return self[...].trimmed
  }
}
