import BywayLineLayer

extension BywayError {
  /// Creates the error for users of a session over a line that has ended.
  init(_ end: SessionEnd, on address: LinkAddress) {
    let message =
      switch end {
      case .finished: "\(address) was closed."
      case .peerRestarted: "The far end of \(address) was restarted: what it had begun is lost."
      case .aborted: "The far end of \(address) has closed the link."
      case .abortedHere: "\(address) was closed at this end."
      case .silence:
        "The far end of \(address) has said nothing for too long. Is the cable plugged in, and does the program at its far end still run?"
      case .lineLost: "\(address) was unplugged and did not come back in time."
      case .version(let version):
        "The far end of \(address) speaks \(version.map { "version \($0)" } ?? "another version") of the line protocol, "
          + "which is unknown here: use the same version of byway at both ends."
      case .echo:
        "Bytes sent on \(address) come back: its far end echoes, or its wires are joined. Start \(Advice.program(.gateway)) there."
      case .bothDial:
        "Both ends of \(address) dial, and one must listen: run \(Advice.program(.gateway)) there without open=dial, or add open=listen to the "
          + "link at one end."
      case .violation:
        "The far end of \(address) broke the line protocol: use the same version of byway at both ends."
      }
    self.init(.linkLost, message)
  }
}
