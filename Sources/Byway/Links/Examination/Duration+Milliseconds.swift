package import NIOCore

extension Duration {
  /// "12.3"
  package var inMilliseconds: String {
    let tenths = Int(self / .microseconds(100))
    return "\(tenths / 10).\(tenths % 10)"
  }
}

extension TimeAmount {
  /// "12.3"
  package var inMilliseconds: String { Duration.nanoseconds(nanoseconds).inMilliseconds }
}
