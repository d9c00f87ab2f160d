import Byway
import HTTPTypes

/// The service behind the gateway answers a request that changes nothing.
struct OriginCheck: Check {
  static let title = "origin"

  let client: BywayClient
  /// Where there is no gateway to answer for the link: what this check hears first is the far end itself.
  var bareLink: Link?

  var limit: Duration { .seconds(8) }

  func examine(_ belongings: Belongings) async throws -> Finding<Void> {
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
