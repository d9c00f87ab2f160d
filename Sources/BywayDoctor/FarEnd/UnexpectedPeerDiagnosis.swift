import Byway
import BywayPrimitives

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
    let address = link.address
    if words.isHTTP2, link.framing == .http1 {
      self.init(.wrongScheme, "An HTTP/2 server answers: leave out http=1.1.")
      return
    }
    switch words.unexpectedPeer {
    case .webServer:
      let option = address.options.isEmpty ? "?http=1.1" : "&http=1.1"
      self.init(
        .webServer, "A web server answers, not a gateway: it speaks HTTP/1.1, so add http=1.1 to the link.",
        repair: .examine(link: address.text + option))
    case .tls:
      self.init(
        .wrongScheme,
        "A TLS server answers: write tls: instead of \(address.scheme):, and name the authority of its certificate (ca=FILE)."
      )
    case .ssh:
      self.init(
        .wrongScheme,
        "An SSH server answers: write ssh: instead of \(address.scheme):, with the target behind that server.")
    case .login:
      self.init(.login, "A login prompt or a shell answers: start \"byway gateway\" there instead.")
    case .echo:
      self.init(
        .loopBack,
        "The far end sends all bytes back, or it dials too, and does not answer: start \"byway gateway\" there, or add open=listen to "
          + "the link at one end.")
    case .mailServer, nil:
      self.init(.otherProgram, error.message)
    }
  }

  private init(_ end: ProgramEnd, _ error: BywayError) {
    switch end.exit {
    case .status(127): self.init(.noProgram, "\(error.message) Install it there, or write its full path.")
    case .status(126): self.init(.notExecutable, "\(error.message) Make it executable there (chmod +x).")
    default: self.init(.programEnded, error.message)
    }
  }
}
