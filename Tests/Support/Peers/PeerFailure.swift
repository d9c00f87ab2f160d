/// The failure of a peer to start or to act in time. The message contains the peer's output.
package struct PeerFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}
