import Byway
import NIOCore

/// The link of a proxy that has no link and answers from recordings. It is never opened for requests that these answer.
struct RecordedLink: Transport {
  let scheme = "recorded"

  /// - Parameter recordings: the path of a file or folder.
  static func link(to recordings: String) throws -> Link {
    try TransportRegistry([RecordedLink()]).link("recorded:\(recordings.replacing("?", with: "%3F"))")
  }

  func check(_ address: LinkAddress) {}

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel { throw Self.noLink }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener { throw Self.noLink }

  private static var noLink: BywayError {
    BywayError(.linkUnavailable, "This proxy has no link: it answers from recordings only.", processing: .none)
  }
}
