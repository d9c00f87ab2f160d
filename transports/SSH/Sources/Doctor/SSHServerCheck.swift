import Byway
import NIOCore

/// Logs in as the link would, and opens its destination. This check reports whether the first server is an SSH server; the
/// following checks report the rest.
struct SSHServerCheck: LinkCheck {
  static let title = "SSH server"

  /// The session gives up on a silent server earlier than that.
  private static let patience = TimeAmount.seconds(12)

  let transport: SSHTransport
  let address: LinkAddress

  var limit: Duration { .seconds(13) }

  func examine(_ resources: OpenedResources) async throws -> Finding<ExaminedLogin> {
    let login = await attempt()
    guard let hop = login.hops.first else {
      return .wrong(Diagnosis(.notConnected, login.error?.message ?? "No session of SSH began."))
    }
    return Self.judge(hop, login, stage: login.stop(0))
  }

  private func attempt() async -> ExaminedLogin {
    var failure: BywayError?
    var opening = Link.Opening.dial
    do {
      let context = LinkContext.ofExamination(within: Self.patience)
      let target = try SSHTarget(address)
      switch target.purpose {
      case .dial:
        try await transport.connect(to: address, context: context).close(promise: nil)
      case .listen:
        opening = .listen
        try await transport.logIn(to: target.login, context: context)
      }
    } catch {
      failure = BywayError(error)
    }
    return ExaminedLogin(hops: transport.journal?.hops ?? [], error: failure, opening: opening)
  }

  private static func judge(
    _ hop: SSHHop, _ login: ExaminedLogin, stage stop: ExaminedLogin.Stop
  ) -> Finding<ExaminedLogin> {
    if let software = hop.identification.software {
      return .sound("\(hop.server) is \(software).", login)
    }
    guard let error = stop.error else { return .sound("\(hop.server) is an SSH server.", login) }
    return .wrong(Diagnosis(notSSH: hop, error))
  }
}

extension Diagnosis {
  /// The diagnosis for a server that did not identify itself as an SSH server.
  init(notSSH hop: SSHHop, _ error: BywayError) {
    if let unexpectedPeer = hop.identification.unexpectedPeer {
      let advice = unexpectedPeer == .tls ? "write tls: instead of ssh:, or correct the port" : "correct the port"
      self.init(.wrongScheme, "\(hop.server) is \(unexpectedPeer), not an SSH server: \(advice).")
    } else if hop.identification.isTurningAway {
      self.init(.serverBusy, error.message)
    } else if hop.identification.firstLine != nil {
      self.init(.otherProgram, error.message)
    } else if error.evidence is UnusableFile {
      self.init(.badSettings, error.message)
    } else if hop.stage == .settled {
      self.init(connecting: ConnectFailure(error.cause ?? error), error.message)
    } else {
      self.init(.notSSH, error.message)
    }
  }
}
