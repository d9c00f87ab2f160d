package import BywayGateway

extension Gateway {
  /// The notice counts listening links as ready. Dialed links are for the log, as their far end may not be there.
  package var readiness: ReadyNotice {
    func places(_ dials: Bool) -> String {
      zip(links, addresses).filter { ($0.0.opening == .dial) == dials }.map(\.1.text).joined(separator: " ")
    }
    let (listening, dialing) = (places(false), places(true))
    let beginning = listening.isEmpty ? "started" : "ready on \(listening)"
    return ReadyNotice(
      words: dialing.isEmpty ? beginning : "\(beginning), dials \(dialing)",
      facts: [("listens", listening), ("dials", dialing)].filter { !$0.1.isEmpty })
  }
}
