import Byway
import BywayDaemon
import BywayGatewayProgram
import BywayHTTPWire
import BywayPlugins
import BywayPrimitives
import BywayTerminal
import HTTPTypes
import Logging

/// A plugin as users write it: its link, with options of the plugin among those of the link.
struct PluginArgument {
  private enum Name: String, CaseIterable {
    case name = "as"
    case host, path, method, scheme
    case onFailure = "on-failure"
    case start, timeout
  }

  /// The names of its options, which are also settings of a section in a file.
  static let names = Name.allCases.map(\.rawValue)

  let link: Link
  private(set) var settings: PluginSettings

  /// - Throws: ``CommandFailure`` or ``BywayError``.
  init(_ text: String, in transports: TransportRegistry) throws {
    let (address, options) = try Self.split(text)
    link = try transports.link(named: address, isProgram: true)
    guard link.opening != .listen else {
      throw CommandFailure(.usage, "A plugin is dialed: leave out open=listen.")
    }
    settings = PluginSettings(name: Self.defaultName(of: link.address))
    for (name, value) in options { try set(name, value) }
    if InterceptorOrder.builtIn.contains(settings.name) {
      throw CommandFailure(
        .usage,
        "A plugin cannot be called \(settings.name), which is the name of an interceptor of Byway: give it another name, with "
          + "as=NAME or in [interceptor NAME].")
    }
    if settings.start == .now {
      guard link.address.scheme == "exec" else {
        throw CommandFailure(.usage, "start=now is for programs that Byway starts: write it after exec:COMMAND.")
      }
      guard link.framing == .http2 else {
        throw CommandFailure(.usage, "With http=1.1, each request has a program of its own: leave out start=now.")
      }
    }
  }

  /// Checks the files that its link needs, such as a program, before the first request needs them.
  /// - Throws: ``BywayError``
  func check() throws { try link.transport.check(link.address, for: .dial) }

  private static func defaultName(of address: LinkAddress) -> String {
    guard address.scheme == "exec" else { return address.place }
    return address.path.split(separator: " ").first?.split(separator: "/").last.map(String.init) ?? address.place
  }

  /// Separates the options of the plugin from the address of its link. In a command with arguments, a question mark counts only if a
  /// known option follows it.
  private static func split(_ text: String) throws -> (address: String, options: [(Name, String)]) {
    let isCommand = text.prefix(5).lowercased() == "exec:"
    guard let mark = isCommand ? text.lastIndex(of: "?") : text.firstIndex(of: "?") else { return (text, []) }
    var kept: [Substring] = []
    var options: [(Name, String)] = []
    let isAlone = !text[..<mark].contains(" ")
    for part in text[text.index(after: mark)...].split(separator: "&") {
      let word = part.prefix { $0 != "=" }
      guard let name = Name(rawValue: String(word)), word.count < part.count else {
        if isCommand, !LinkOption.common.contains(where: { $0.name == word }) {
          guard isAlone, word.count < part.count else { return (text, []) }
          let known = (Self.names + LinkOption.common.map(\.name)).joined(separator: ", ")
          throw CommandFailure(.usage, "Unknown option \"\(String(word).visible)\" of a plugin: write one of \(known).")
        }
        kept.append(part)
        continue
      }
      guard let value = PercentEncoding.decode(part.dropFirst(word.count + 1)), !value.isEmpty else {
        throw CommandFailure(.usage, "\"\(part)\" is not an option: write \(name.rawValue)=VALUE.")
      }
      options.append((name, value))
    }
    let rest = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
    return (text[..<mark] + rest, options)
  }

  private mutating func set(_ name: Name, _ value: String) throws {
    switch name {
    case .name:
      guard ShortName.isValid(value) else {
        throw CommandFailure(.usage, "as=\(value) is not a name: use letters, digits, -, _ and dots.")
      }
      settings.name = value
    case .host:
      do throws(AuthorityFlaw) { _ = try HostPattern(value) } catch {
        throw CommandFailure(.usage, "host=\(BywayError(.invalidAddress, place: value, error).message)")
      }
      settings.scope.hosts.append(value)
    case .path:
      guard value.hasPrefix("/") else { throw CommandFailure(.usage, "path=\(value) must begin with a slash.") }
      settings.scope.paths.append(value)
    case .method:
      guard let method = HTTPRequest.Method(rawValue: value) else {
        throw CommandFailure(.usage, "method=\(value) is not a method: write method=GET, for example.")
      }
      settings.scope.methods.insert(method)
    case .scheme:
      guard ["http", "https"].contains(value) else {
        throw CommandFailure(.usage, "scheme=\(value) is unknown: write scheme=http or scheme=https.")
      }
      settings.scope.schemes.insert(value)
    case .onFailure:
      guard let policy = PluginSettings.FailurePolicy(rawValue: value) else {
        throw CommandFailure(.usage, "on-failure=\(value) is unknown: write on-failure=refuse or on-failure=bypass.")
      }
      settings.onFailure = policy
    case .start:
      guard let start = PluginSettings.Start(rawValue: value) else {
        throw CommandFailure(.usage, "start=\(value) is unknown: write start=now or start=first-use.")
      }
      settings.start = start
    case .timeout:
      guard let seconds = Seconds(argument: value), seconds.amount > .zero else {
        throw CommandFailure(.usage, "timeout=\(value) is not a time: write timeout=30, in seconds.")
      }
      settings.timeout = seconds.amount
    }
  }
}

extension InterceptionFiles {
  /// Returns the plugin for an option as the user wrote it, and its key.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  func plugin(
    _ text: String, upgrades: [UpgradeProtocol], logger: Logger
  ) throws -> (plugin: SharedPlugin, key: Key) {
    let argument = try PluginArgument(text, in: transports)
    return try plugin(argument.settings, at: argument.link, writtenAs: text, upgrades: upgrades, logger: logger)
  }
}
