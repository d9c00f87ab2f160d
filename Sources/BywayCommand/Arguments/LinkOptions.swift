import ArgumentParser
import Byway
import BywayGatewayProgram
import BywayLibC
import BywayPrimitives
import BywayTerminal

/// The link option of a command that opens one link.
struct LinkOptions: ParsableArguments {
  // Optional for the parser: otherwise it would report a misspelt --link as a missing one.
  @Option(
    help: "The link: an address such as unix:/run/byway.sock, or a name that byway links lists. (default: $BYWAY_LINK)",
    completion: .links)
  var link: String?

  /// - Throws: ``CommandFailure`` or ``BywayError`` if no link is given, or if it cannot be opened.
  func link(in transports: TransportRegistry) throws -> Link {
    guard let link = try linkIfGiven(in: transports) else {
      throw CommandFailure(
        .usage, "No link is given: add --link, for example --link unix:/run/byway.sock, or set BYWAY_LINK.")
    }
    PasswordPrompt.ask(for: link)
    return link
  }

  /// - Returns: `nil` if no link is given.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if it cannot be opened.
  func linkIfGiven(in transports: TransportRegistry) throws -> Link? {
    if let link, !link.isEmpty { return try OptionValue.of("--link") { try transports.link(named: link) } }
    guard let link = Environment["BYWAY_LINK"], !link.isEmpty else { return nil }
    return try OptionValue.of("BYWAY_LINK") { try transports.link(named: link) }
  }
}
