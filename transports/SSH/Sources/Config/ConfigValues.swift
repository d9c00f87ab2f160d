import Byway

/// The values that ssh_config has for one host, as written. The first value of each keyword counts; key files add up.
package struct ConfigValues: Sendable, Equatable {
  var hostName: String?
  var user: String?
  var port: Int?
  /// An empty list stands for `none`.
  var jumps: [HostSettings.Jump]?
  var hostKeyAlias: String?
  var keyChecking: HostSettings.KeyChecking?
  var userKnownHosts: [String]?
  var globalKnownHosts: [String]?
  var hashesKnownHosts: Bool?
  var identityAgent: String?
  var identitiesOnly: Bool?
  var identityFiles: [String] = []
  var batchMode: Bool?

  package init() {}

  /// - Returns: `false` if the keyword is not understood, and may matter.
  /// - Throws: if its value is not understood.
  package mutating func take(_ line: ConfigLine) throws(ConfigLine.Problem) -> Bool {
    switch line.keyword {
    case "hostname": try set(\.hostName, line.word())
    case "user": try set(\.user, line.word())
    case "port": try set(\.port, line.port())
    case "proxyjump": try set(\.jumps, line.jumps())
    case "hostkeyalias": try set(\.hostKeyAlias, line.word())
    case "stricthostkeychecking": try set(\.keyChecking, line.keyChecking())
    case "userknownhostsfile": try set(\.userKnownHosts, line.files())
    case "globalknownhostsfile": try set(\.globalKnownHosts, line.files())
    case "hashknownhosts": try set(\.hashesKnownHosts, line.flag())
    case "identityagent": try set(\.identityAgent, line.word())
    case "identitiesonly": try set(\.identitiesOnly, line.flag())
    case "batchmode": try set(\.batchMode, line.flag())
    case "identityfile":
      let file = try line.word()
      if !identityFiles.contains(file) { identityFiles.append(file) }
    default: return Self.irrelevant.contains(line.keyword)
    }
    return true
  }

  /// Keywords that change nothing for a channel without a terminal, a shell or forwarding. Debian's file sets the first ones.
  private static let irrelevant: Set<String> = [
    "sendenv", "gssapiauthentication", "gssapidelegatecredentials", "setenv", "forwardagent", "forwardx11",
    "forwardx11timeout", "forwardx11trusted", "xauthlocation", "requesttty", "escapechar", "enableescapecommandline",
    "visualhostkey", "controlmaster", "controlpath", "controlpersist", "addkeystoagent", "loglevel", "logverbose",
    "permitlocalcommand", "localcommand", "ignoreunknown",
  ]

  private mutating func set<Value>(_ path: WritableKeyPath<ConfigValues, Value?>, _ value: Value) {
    if self[keyPath: path] == nil { self[keyPath: path] = value }
  }
}

extension ConfigLine {
  fileprivate func word() throws(Problem) -> String {
    guard let word = words.first, !word.isEmpty else { throw Problem(message: "\(spelling) has no value") }
    guard words.count == 1 else { throw Problem(message: "\(spelling) has more than one value") }
    return word
  }

  fileprivate func port() throws(Problem) -> Int {
    let word = try word()
    guard let port = UInt16(word), port > 0 else { throw Problem(message: "Port \(word) is not a port") }
    return Int(port)
  }

  fileprivate func flag() throws(Problem) -> Bool {
    switch try word().lowercased() {
    case "yes", "true": return true
    case "no", "false": return false
    case let word: throw Problem(message: "\(spelling) \(word) is neither yes nor no")
    }
  }

  /// Treats `ask` as strict, because there is no prompt here. A changed key is refused even with `no`.
  fileprivate func keyChecking() throws(Problem) -> HostSettings.KeyChecking {
    switch try word().lowercased() {
    case "yes", "true", "ask": return .strict
    case "accept-new", "no", "false", "off": return .acceptNew
    case let word: throw Problem(message: "\(spelling) \(word) is unknown")
    }
  }

  fileprivate func files() throws(Problem) -> [String] {
    guard !words.isEmpty else { throw Problem(message: "\(spelling) has no value") }
    return words.count == 1 && words[0].lowercased() == "none" ? [] : words
  }

  fileprivate func jumps() throws(Problem) -> [HostSettings.Jump] {
    let word = try word()
    if word.lowercased() == "none" { return [] }
    var jumps: [HostSettings.Jump] = []
    for part in word.split(separator: ",", omittingEmptySubsequences: false) {
      guard let jump = HostSettings.Jump(part) else {
        throw Problem(message: "ProxyJump \(part) does not have the form [user@]host[:port]")
      }
      jumps.append(jump)
    }
    return jumps
  }
}

extension HostSettings.Jump {
  /// `[user@]host[:port]`, or the same as a URI.
  init?(_ text: some StringProtocol) {
    var text = String(text)
    if text.hasPrefix("ssh://") {
      text.removeFirst(6)
      if text.hasSuffix("/") { text.removeLast() }
    }
    guard let parts = LinkAddress.HostPort(text), parts.user != "", parts.port != 0 else { return nil }
    self.init(user: parts.user, host: parts.host, port: parts.port)
  }
}
