import ArgumentParser

/// How the lines of an access log look.
enum AccessLogFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
  /// As Apache's and nginx's, and the id behind it.
  case combined
  /// One object for each line, with all that is known.
  case json
}
