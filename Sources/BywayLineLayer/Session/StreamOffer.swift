/// The streams that an end announces (section 13).
package struct StreamOffer: Equatable, Sendable {
  /// The number of concurrent streams that it accepts; 0 for none.
  package let count: UInt8
  /// The initial credit of each stream, in units of ``unit`` bytes.
  package let credit: UInt8

  package static let none = StreamOffer(count: 0, credit: 0)
  package static let most = 16
  package static let unit = 64

  package init(count: UInt8, credit: UInt8) {
    self.count = min(count, UInt8(Self.most))
    self.credit = count == 0 ? 0 : max(credit, 1)
  }

  /// The initial credit of each stream in bytes.
  var bytes: Int { Int(credit) * Self.unit }
}

/// The streams of a session in which both ends accept some.
package struct StreamAgreement: Equatable, Sendable {
  /// The number of streams, 1 to ``StreamOffer/most``.
  package let count: Int
  /// The initial credit of each stream in bytes: what this end accepts, and what the peer accepts.
  package let ownCredit, peerCredit: Int

  /// Returns `nil` if an end accepts no streams.
  init?(_ own: StreamOffer, _ peer: StreamOffer) {
    guard own.count > 0, peer.count > 0 else { return nil }
    count = Int(min(own.count, peer.count))
    ownCredit = own.bytes
    peerCredit = peer.bytes
  }
}
