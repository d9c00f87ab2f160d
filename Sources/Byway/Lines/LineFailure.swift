import LinkLayer

extension BywayError {
  /// What the end of a session over a line means to those who used it.
  init(_ end: LinkEnd, on address: LinkAddress) {
    let message =
      switch end {
      case .finished: "\(address) was closed."
      case .peerRestarted: "The far end of \(address) was started anew: what it had begun is lost."
      case .aborted: "The far end of \(address) has given the link up."
      case .abortedHere: "\(address) was given up at this end."
      case .silence:
        "The far end of \(address) has said nothing for too long. Is the cable in, does the program at its far end run, "
          + "and with the same baud rate?"
      case .lineLost: "\(address) was unplugged and did not come back in time."
      case .version(let version):
        "The far end of \(address) speaks \(version.map { "version \($0)" } ?? "another version") of the line protocol, "
          + "which is unknown here: bring both ends to the same version of byway."
      case .bothDial: "Both ends of \(address) dial. One of them must listen: run \"byway gateway\" there."
      case .violation:
        "The far end of \(address) broke the line protocol: bring both ends to the same version of byway."
      }
    self.init(.linkLost, message)
  }
}
