import Byway

/// Diagnoses of links that opened but led to no gateway.
extension Diagnosis {
  /// - Parameter error: the error of the first exchange over the link.
  init(of error: BywayError, on link: Link) {
    if let known = error.diagnosis ?? (link.medium as? any Examinable)?.diagnose(error, on: link.address) {
      self = known
      return
    }
    switch error.evidence {
    case let words as UnexpectedBytes: self.init(words, error, link)
    case let end as ProgramEnd: self.init(end, error)
    default: self.init(.noGateway, error.message)
    }
  }

  private init(_ words: UnexpectedBytes, _ error: BywayError, _ link: Link) {
    if words.isHTTP2, link.framing == .http1 {
      self.init(.wrongScheme, "An HTTP/2 server answers: leave out http=1.1.")
      return
    }
    self =
      words.unexpectedPeer?.diagnosis(expecting: .gateway, on: link.address) ?? Diagnosis(.otherProgram, error.message)
  }

  private init(_ end: ProgramEnd, _ error: BywayError) {
    switch end.exit {
    case .status(127): self.init(.noProgram, "\(error.message) Install it there, or write its full path.")
    case .status(126): self.init(.notExecutable, "\(error.message) Make it executable there (chmod +x).")
    default: self.init(.programEnded, error.message)
    }
  }
}
