/// Why a port cannot be opened: a process has it.
package struct PortTaken: Error {
  package let processID: Int32

  package init(by processID: Int32) {
    self.processID = processID
  }
}

/// A transport that can tell on which of its addresses another process of this machine listens.
package protocol ListenerListing: Transport {
  /// As far as this user may see. Takes some milliseconds: not for event loops.
  func listeners(of processID: Int32) -> [String]
}

extension TransportRegistry {
  /// The addresses at which a process listens, of every transport that can tell.
  package func listeners(of processID: Int32) -> [String] {
    schemes.flatMap { (transport($0) as? any ListenerListing)?.listeners(of: processID) ?? [] }
  }
}
