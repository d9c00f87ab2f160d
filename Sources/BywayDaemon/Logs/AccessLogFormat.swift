/// The format of the lines of an access log.
package enum AccessLogFormat: String, CaseIterable, Sendable {
  /// The format of Apache and nginx, with the exchange's id at the end.
  case combined
  /// A JSON object for each line, with all known facts.
  case json
}
