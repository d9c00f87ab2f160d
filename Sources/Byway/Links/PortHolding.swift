/// The reason why a port cannot be opened: another process has it.
package struct PortTaken: Error {
  package let processID: Int32

  package init(by processID: Int32) {
    self.processID = processID
  }
}

/// A transport that can find the addresses on which another process of this machine listens.
package protocol ListenerListing: Transport {
  /// Returns the addresses that this user may see. Takes some milliseconds: not for event loops.
  func listeners(of processID: Int32) -> [String]
}

extension TransportRegistry {
  /// Returns the addresses on which a process listens, of every transport that can find them.
  package func listeners(of processID: Int32) -> [String] {
    schemes.flatMap { (transport($0) as? any ListenerListing)?.listeners(of: processID) ?? [] }
  }
}
