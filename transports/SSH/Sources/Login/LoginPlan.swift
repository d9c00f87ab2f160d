internal import Byway
internal import Logging
internal import NIOCore

/// What to log in with, in the order to try it: agent keys, key files, then what a person or an environment variable
/// answers. Made anew for each connection.
actor LoginPlan {
  private let settings: HostSettings

  /// - Parameter deadline: when every wait inside must have ended, a person at a prompt included.
  init(_ settings: HostSettings, group: any EventLoopGroup, logger: Logger, deadline: NIODeadline) {
    self.settings = settings
  }

  /// The next attempt; `nil` where there is none left, and ``failure(serverOffers:)`` tells why.
  ///
  /// - Parameter serverOffers: the methods that the server says can continue, as of now: `publickey`, `password`.
  /// - Throws: where there is no sense in going on: a key file named in the address that cannot be read, for example.
  func next(serverOffers: [String]) async throws(BywayError) -> LoginStep? {
    nil
  }

  /// What was tried, why nothing else was, and what the server offered.
  func failure(serverOffers: [String]) -> BywayError {
    BywayError(
      .linkUnavailable, "\(settings.host) let nobody in: it offers \(serverOffers.joined(separator: ", ")).",
      processing: .none)
  }
}
