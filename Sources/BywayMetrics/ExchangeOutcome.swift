import Byway

/// The result of an exchange, with few distinct values.
struct ExchangeOutcome: Hashable, Sendable {
  private let status: Int
  private let failure: BywayError.Code?

  init(_ exchange: ExchangeRecord.State) {
    status = exchange.values.status ?? 0
    failure = exchange.values.failure?.code
  }

  /// Empty without a status.
  var statusText: String {
    switch status {
    case 0: ""
    // The origin may send any number.
    case 100...599: "\(status)"
    default: "_OTHER"
    }
  }

  /// The code of the failure, or the status of a server error; empty if there was none.
  var errorText: String {
    if let failure { return "\(failure)" }
    return status >= 500 ? statusText : ""
  }
}
