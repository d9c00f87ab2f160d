import ArgumentParser
import Byway

/// The one link of a command that opens it.
struct LinkOptions: ParsableArguments {
  // Not required for the parser, which would tell of a missing --link where somebody has misspelt it.
  @Option(help: "The link, for example unix:/run/byway.sock. (required)")
  var link: String?

  /// - Throws: ``CommandFailure`` or ``BywayError`` where there is none that can be opened.
  func link(in transports: TransportRegistry) throws -> Link {
    guard let link else {
      throw CommandFailure(.usage, "No link is given: add --link, for example --link unix:/run/byway.sock.")
    }
    return try transports.link(link)
  }
}
