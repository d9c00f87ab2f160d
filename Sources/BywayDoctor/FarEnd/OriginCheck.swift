import Byway
import HTTPTypes

/// Checks that the service behind the gateway answers a request that changes nothing.
struct OriginCheck: LinkCheck {
  static let title = "origin"

  let client: BywayClient
  /// The link, if no gateway answers on it: then this is the first check that hears the peer.
  var bareLink: Link?

  var limit: Duration { .seconds(8) }

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let response: Response
    do {
      response = try await client.execute(Request(.head, url: "http://localhost/"))
    } catch let error as BywayError {
      return .wrong(bareLink.map { Diagnosis(of: error, on: $0) } ?? Diagnosis(.noOrigin, error.message))
    }
    if let message = HopFailure.message(in: response.head) {
      return .wrong(Diagnosis(.noOrigin, "The gateway answers, its origin does not: \(message)"))
    }
    return .sound("It answers \(response.head.status.code) \(response.head.status.phrase) to HEAD /.")
  }
}
