import BywayLibC

/// A password, a passphrase or a key. It is overwritten when its last reference is released, and never printed.
///
/// `@unchecked`: the bytes are written only before `init` returns and in `deinit`.
final class Secret: @unchecked Sendable {
  private let storage: UnsafeMutableRawBufferPointer

  init(_ bytes: some Collection<UInt8>) {
    storage = .allocate(byteCount: bytes.count, alignment: 1)
    storage.copyBytes(from: bytes)
  }

  deinit {
    if let start = storage.baseAddress { explicit_bzero(start, storage.count) }
    storage.deallocate()
  }

  var count: Int { storage.count }

  /// Passes the bytes to a closure. They must not outlive the call; the closure must wipe any copy.
  func withBytes<Value, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try body(UnsafeRawBufferPointer(storage))
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "(secret)" }
  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension [UInt8] {
  mutating func wipe() {
    withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
  }
}
