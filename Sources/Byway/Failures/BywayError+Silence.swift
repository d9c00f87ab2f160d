import NIOCore

extension BywayError {
  /// Returns the error for a request without a response in time.
  /// - Parameters:
  ///   - time: the time limit; `nil` if the request's own deadline has passed.
  ///   - setting: the name of the setting with the limit.
  static func noResponse(
    from name: String, within time: TimeAmount? = nil, _ setting: String? = nil
  ) -> BywayError {
    let wait = time.map { "within \($0.inSeconds)" } ?? "before the deadline of the request"
    var error = BywayError(.timedOut, "\(name) sent no response \(wait)\(setting.map { " (\($0))" } ?? "").")
    if setting != nil { error.advice = .raise(.responseTimeout) }
    return error
  }
}

extension TimeAmount {
  /// The time in seconds: `0.5 s`.
  package var inSeconds: String {
    let milliseconds = nanoseconds / 1_000_000
    guard milliseconds % 1000 != 0 else { return "\(milliseconds / 1000) s" }
    var fraction = String(1000 + abs(milliseconds) % 1000).dropFirst()
    while fraction.last == "0" { fraction.removeLast() }
    return "\(milliseconds / 1000).\(fraction) s"
  }
}
