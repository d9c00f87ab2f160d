/// A peer that could not be started or did not do its part in time. What it said is in the message.
package struct PeerFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}
