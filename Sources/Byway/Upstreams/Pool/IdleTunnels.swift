import NIOCore

/// The choice of idle tunnels that end in favor of clients with waiting exchanges.
enum IdleTunnels {
  /// How long a tunnel must be without traffic before it may be ended, if its client has more than its share.
  private static let idleness = TimeAmount.seconds(5)
  /// The number of idle tunnels that each client keeps, and the part of the link's streams that this may be at most.
  private static let kept = (count: 3, part: 32)

  /// Returns idle tunnels of clients above their fair share, the longest idle first: as many as clients below their share have exchanges
  /// waiting. A client keeps a few: many other clients would make its share very small.
  static func toEnd<Connection: PooledConnection>(
    of working: [Connection], shares: [ClientShare], at now: NIODeadline
  ) -> [Connection.Request] {
    let limit = working.reduce(0) { $0 + $1.streamLimit }
    let fair = max(1, limit / max(1, shares.count))
    var wanted = -working.reduce(0) { $0 + $1.closingStreams }
    for share in shares where share.running * shares.count < limit {
      wanted += min(share.waiting, fair - share.running)
    }
    guard wanted > 0 else { return [] }
    let tunnels = working.flatMap(\.running).compactMap { request in
      request.lastTraffic.map { (since: $0, request: request) }
    }
    var counts = Dictionary(tunnels.map { ($0.request.client, 1) }, uniquingKeysWith: +)
    let kept = min(Self.kept.count, limit / Self.kept.part)
    var ended: [ObjectIdentifier: Int] = [:]
    return Array(
      tunnels.filter { $0.since <= now - idleness }.sorted { $0.since < $1.since }.map(\.request).filter { tunnel in
        guard let share = tunnel.share, let count = counts[tunnel.client], count > kept else { return false }
        let running = share.running - ended[ObjectIdentifier(share), default: 0]
        guard running * shares.count > limit else { return false }
        ended[ObjectIdentifier(share), default: 0] += 1
        counts[tunnel.client] = count - 1
        return true
      }.prefix(wanted))
  }
}
