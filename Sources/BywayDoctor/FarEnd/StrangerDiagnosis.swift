package import Byway
import Primitives

/// What the end of a link means that was opened and had no gateway behind it.
extension Diagnosis {
  /// - Parameter error: of the first exchange over the link.
  init(of error: BywayError, on link: Link) {
    if let known = (link.medium as? any Examinable)?.diagnose(error, on: link.address) {
      self = known
      return
    }
    switch error.evidence {
    case let words as ForeignWords: self.init(words, error, link)
    case let end as ProgramEnd: self.init(end, error)
    default: self.init(.noGateway, error.message)
    }
  }

  private init(_ words: ForeignWords, _ error: BywayError, _ link: Link) {
    let address = link.address
    if words.isHTTP2, link.framing == .http1 {
      self.init(.wrongScheme, "A gateway answers, or another server of HTTP/2: leave out http=1.1.")
      return
    }
    switch words.stranger {
    case .webServer:
      let option = address.options.isEmpty ? "?http=1.1" : "&http=1.1"
      self.init(
        .webServer, "A web server answers, not a gateway: it speaks HTTP/1.1, which the link has to say (http=1.1).",
        command: "byway doctor \(ShellWord.of(address.text + option))")
    case .tls:
      self.init(
        .wrongScheme,
        "A TLS server answers: write tls: instead of \(address.scheme):, and whose certificate it has (ca=FILE).")
    case .ssh:
      self.init(
        .wrongScheme, "An SSH server answers: write ssh: instead of \(address.scheme):, and where to go from there.")
    case .login:
      self.init(.login, "A login prompt or a shell answers: start \"byway gateway\" there instead.")
    case .echo:
      self.init(.loopBack, "What is sent comes back, and nobody answers it: start \"byway gateway\" there.")
    case .mailServer, nil:
      self.init(.otherProgram, error.message)
    }
  }

  /// Of a program whose standard streams are the link: it may greet, or say there why it cannot go on.
  /// - Returns: `nil` where that is not what failed.
  package init?(chatterOf program: String, _ error: BywayError) {
    guard let words = error.evidence as? ForeignWords, words.stranger == nil || words.stranger == .login else {
      return nil
    }
    self.init(
      .chatter,
      "\(program) prints something else than HTTP/2 on its standard output, which is the link: "
        + "\(String(quoting: words.heard, limit: 60)). Keep it silent there (a greeting, a shell's start-up files, a warning), or "
        + "let it print to its standard error.")
  }

  private init(_ end: ProgramEnd, _ error: BywayError) {
    switch end.exit {
    case .status(127): self.init(.noProgram, "\(error.message) Install it there, or write its full path.")
    case .status(126): self.init(.notExecutable, "\(error.message) Make it executable there (chmod +x).")
    default: self.init(.programEnded, error.message)
    }
  }
}
