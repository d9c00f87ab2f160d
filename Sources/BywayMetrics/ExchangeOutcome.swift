import Byway

/// How an exchange ended, in few values.
struct ExchangeOutcome: Hashable, Sendable {
  private let status: Int
  private let failure: BywayError.Code?

  init(_ exchange: ExchangeRecord) {
    status = exchange.status ?? 0
    failure = exchange.failure?.code
  }

  /// Nothing where there was none.
  var statusText: String {
    switch status {
    case 0: ""
    // The origin may say what it likes.
    case 100...599: "\(status)"
    default: "_OTHER"
    }
  }

  /// The code of the failure, or the status of an answer that tells of one; nothing where all went well.
  var errorText: String {
    if let failure { return "\(failure)" }
    return status >= 500 ? statusText : ""
  }
}
