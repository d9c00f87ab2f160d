import ArgumentParser
import Byway
import BywayInterceptors
import HTTPWire

/// Who the user is to the origin.
struct LoginOptions: ParsableArguments {
  @Option(
    name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
    help: ArgumentHelp(
      "Log in where the origin asks for it, by Digest where it offers that, and else by Basic; curl sends Basic unasked. Other "
        + "users of this machine can see it: --auth keeps it in a file.", valueName: "name:password"))
  var user: String?

  @Option(
    help: ArgumentHelp("Log in the same way with the names and passwords of a netrc file.", valueName: "file"),
    completion: .file())
  var auth: String?

  init() {}

  /// - Parameter url: whose user information is a login, too.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where they contradict each other, or are none.
  func interceptor(for url: String, _ request: Request) throws -> Authenticate? {
    if let auth {
      guard user == nil else { throw CommandFailure(.usage, "--user and --auth: leave one of them out.") }
      return try Authenticate(netrc: auth)
    }
    guard let login = try user.map(Self.credentials) ?? Self.credentials(inURL: url) else { return nil }
    // A redirect may lead to somebody else's host, who is to hear nothing of it.
    let host = Self.host(request.head.authority ?? "")
    return Authenticate { Self.host($0.origin.split(separator: "/").last.map(String.init) ?? "") == host ? login : nil }
  }

  private static func credentials(_ text: String) throws -> Authenticate.Credentials {
    guard let colon = text.firstIndex(of: ":") else {
      throw CommandFailure(
        .usage, "-u \(text) has no password: write -u \(text):PASSWORD, or use --auth with a netrc file.")
    }
    return Authenticate.Credentials(
      user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
  }

  /// `http://name:password@host/` (RFC 3986 §3.2.1), which no request has a place for (RFC 9110 §4.2.4).
  private static func credentials(inURL url: String) throws -> Authenticate.Credentials? {
    guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
    let authority = url[start...].prefix { !"/?#".contains($0) }
    guard let at = authority.lastIndex(of: "@") else { return nil }
    let words = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      .map(LinkAddress.percentDecoded)
    guard words.count == 2, let user = words[0], let password = words[1] else {
      throw CommandFailure(
        .usage, "The URL names a user and no password: write http://NAME:PASSWORD@HOST/, or use -u or --auth.")
    }
    return Authenticate.Credentials(user: user, password: password)
  }

  /// The URL as a request has it: without the login.
  static func withoutLogin(_ url: String) -> String {
    guard let start = url.firstRange(of: "://")?.upperBound else { return url }
    let authority = url[start...].prefix { !"/?#".contains($0) }
    return String(url[..<start] + Authority.splitUser(authority).rest + url[authority.endIndex...])
  }

  private static func host(_ authority: String) -> Host? {
    (try? Authority(authority))?.host
  }
}
