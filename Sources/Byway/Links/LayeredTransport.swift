/// A transport over another one, whose addresses it takes as they are.
protocol LayeredTransport: Transport {
  var base: any Transport { get }
}

extension LayeredTransport {
  var scheme: String { base.scheme }
  var options: [LinkOption] { base.options }

  func check(_ address: LinkAddress) throws {
    try base.check(address)
  }

  func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    try base.check(address, for: opening)
  }
}
