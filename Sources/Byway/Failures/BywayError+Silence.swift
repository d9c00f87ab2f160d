import NIOCore

extension BywayError {
  /// A request went out, and no response began in time.
  /// - Parameters:
  ///   - time: how long it was waited for; `nil` where the request's own deadline has passed.
  ///   - option: what sets that time.
  static func noResponse(
    from name: String, within time: TimeAmount? = nil, _ option: String? = nil
  ) -> BywayError {
    let wait = time.map { "within \($0.inSeconds)" } ?? "before the deadline of the request"
    return BywayError(.timedOut, "\(name) sent no response \(wait)\(option.map { " (\($0))" } ?? "").")
  }
}

extension TimeAmount {
  /// `0.5 s`
  package var inSeconds: String {
    let milliseconds = nanoseconds / 1_000_000
    guard milliseconds % 1000 != 0 else { return "\(milliseconds / 1000) s" }
    var fraction = String(1000 + abs(milliseconds) % 1000).dropFirst()
    while fraction.last == "0" { fraction.removeLast() }
    return "\(milliseconds / 1000).\(fraction) s"
  }
}
