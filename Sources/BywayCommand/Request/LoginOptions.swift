import ArgumentParser
import Byway
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import BywayTerminal

/// The options for the user's login at the origin.
struct LoginOptions: ParsableArguments {
  @Option(
    name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
    help: .value(
      "name:password",
      "Log in if the origin asks for it, with Digest if it offers that and Basic otherwise; curl sends Basic unasked. Other "
        + "users of this machine can see it: --auth keeps it in a file."))
  var user: String?

  @Option(
    help: .value("file", "Log in the same way with the names and passwords of a netrc file."),
    completion: .file())
  var auth: String?

  /// - Parameter url: A URL whose user information is a login as well.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if the options contradict each other, or are invalid.
  func interceptor(for url: String, _ request: Request) throws -> Authenticate? {
    if let auth {
      guard user == nil else { throw CommandFailure(.usage, "--user and --auth: leave one of them out.") }
      return try Authenticate(netrc: auth)
    }
    guard let login = try user.map(Self.credentials) ?? Self.credentials(inURL: url) else { return nil }
    // A redirect may lead to another server, which must not get the login. Another port is another server.
    let server = Server(scheme: request.head.scheme ?? "", authority: request.head.authority ?? "")
    return Authenticate { Server(origin: $0.origin) == server ? login : nil }
  }

  private struct Server: Equatable {
    let scheme: String
    let host: Host
    let port: UInt16?

    init?(scheme: String, authority: String) {
      guard let named = try? Authority(authority) else { return nil }
      (self.scheme, host, port) = (scheme.lowercased(), named.host, named.port(for: scheme.lowercased()))
    }

    /// `http://device:8080`
    init?(origin: String) {
      guard let colon = origin.firstRange(of: "://") else { return nil }
      self.init(scheme: String(origin[..<colon.lowerBound]), authority: String(origin[colon.upperBound...]))
    }
  }

  private static func credentials(_ text: String) throws -> Authenticate.Credentials {
    guard let colon = text.firstIndex(of: ":") else {
      throw CommandFailure(
        .usage, "-u \(text) has no password: write -u \(text):PASSWORD, or use --auth with a netrc file.")
    }
    return Authenticate.Credentials(
      user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
  }

  /// Reads `http://name:password@host/` (RFC 3986 §3.2.1), which a request cannot carry (RFC 9110 §4.2.4).
  private static func credentials(inURL url: String) throws -> Authenticate.Credentials? {
    guard let authority = authority(of: url) else { return nil }
    guard let at = authority.lastIndex(of: "@") else { return nil }
    let words = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      .map { PercentEncoding.decode($0) }
    guard words.count == 2, let user = words[0], let password = words[1] else {
      throw CommandFailure(
        .usage, "The URL names a user and no password: write http://NAME:PASSWORD@HOST/, or use -u or --auth.")
    }
    return Authenticate.Credentials(user: user, password: password)
  }

  /// Returns the URL as a request has it, without the login.
  static func withoutLogin(_ url: String) -> String {
    guard let authority = authority(of: url) else { return url }
    return String(url[..<authority.startIndex] + Authority.splitUser(authority).rest + url[authority.endIndex...])
  }

  /// Returns the authority, but not that of a URL in a query.
  private static func authority(of url: String) -> Substring? {
    guard let colon = url.firstRange(of: "://"), !url[..<colon.lowerBound].contains(where: { "/?#".contains($0) })
    else {
      return nil
    }
    return url[colon.upperBound...].prefix { !"/?#".contains($0) }
  }
}
