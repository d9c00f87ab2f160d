import ArgumentParser
import Byway
import Glibc
import Primitives

/// The one link of a command that opens it.
struct LinkOptions: ParsableArguments {
  // Not required for the parser, which would tell of a missing --link where somebody has misspelt it.
  @Option(
    help: "The link: an address such as unix:/run/byway.sock, or a name that byway links lists. (default: $BYWAY_LINK)",
    completion: .links)
  var link: String?

  /// - Throws: ``CommandFailure`` or ``BywayError`` where there is none that can be opened.
  func link(in transports: TransportRegistry) throws -> Link {
    guard let link = try linkIfGiven(in: transports) else {
      throw CommandFailure(
        .usage, "No link is given: add --link, for example --link unix:/run/byway.sock, or set BYWAY_LINK.")
    }
    return link
  }

  /// - Returns: `nil` where none is given.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where it cannot be opened.
  func linkIfGiven(in transports: TransportRegistry) throws -> Link? {
    if let link, !link.isEmpty { return try OptionValue.of("--link") { try transports.link(named: link) } }
    guard let link = Environment["BYWAY_LINK"], !link.isEmpty else { return nil }
    return try OptionValue.of("BYWAY_LINK") { try transports.link(named: link) }
  }
}
