import ArgumentParser
import Byway
import BywayDaemon
import Logging

/// The options of a member.
protocol MemberOptions: ParsableArguments, Sendable {
  associatedtype Configuration: MemberConfiguration

  var interceptors: InterceptorOptions { get }
  var maxConnections: Int? { get }

  /// Options that a file may set thousands of times, and that the parser leaves as text.
  static var lists: Set<String> { get }

  /// Sets the values of a list.
  /// - Parameter list: One of ``lists``.
  mutating func set(_ list: String, to values: [String])

  /// Returns the links on which it accepts connections, and those that it opens.
  func links(of configuration: Configuration) -> [OptionLink]

  /// Returns the checks of its files, except those of its links.
  func checks(in transports: TransportRegistry) -> [OptionCheck]

  /// Checks the given values that the parser leaves as text.
  func check(transports: TransportRegistry) throws

  /// Returns the configuration. Reads the files that the options name, and changes nothing.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if something is missing or wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> Configuration

  /// Opens what the interceptors need and is not open yet.
  func interception(of configuration: Configuration, with files: InterceptionFiles) throws -> Interception
}

extension MemberOptions {
  static var lists: Set<String> { [] }

  mutating func set(_ list: String, to values: [String]) {}

  /// The options that cannot change while it runs, with their values as text.
  var fixed: [String: String] { ["max-connections": maxConnections.map { "\($0)" } ?? ""] }
}
