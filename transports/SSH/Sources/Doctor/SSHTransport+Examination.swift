package import Byway
import BywayLibC

extension SSHTransport: Examinable {
  /// A transport whose sessions keep a journal. It prompts for passwords only if standard input is a terminal.
  package var examined: any Examinable {
    SSHTransport(keeping: SSHJournal(mayAsk: isatty(STDIN_FILENO) == 1))
  }

  package func examine(_ address: LinkAddress, in context: LinkContext) async throws(ExaminationEnd) -> MediumState {
    let settings = try await context.make(SSHSettingsCheck(address: address))
    // A host behind jump hosts is looked up and connected to by those.
    if settings.jumps.isEmpty {
      let known = settings.aliases.filter { $0 != settings.alias }
      let advice = settings.proxyCommandAdvice
      let addresses = try await context.make(
        NameCheck(host: settings.host, port: settings.port, written: settings.alias, known: known, advice: advice))
      let place = "\(LinkAddress.HostPort(host: settings.host, port: settings.port))"
      _ = try await context.make(
        ReachCheck(to: place, of: "the SSH server", at: addresses, advice: advice))
    }
    let login = try await context.make(SSHServerCheck(transport: self, address: address))
    for index in login.hops.indices {
      if index > 0 { try await context.make(SSHStopCheck(login: login, index: index)) }
      let stop = login.stop(index)
      try await context.make(SSHAlgorithmsCheck(stop: stop))
      try await context.make(SSHHostKeyCheck(stop: stop, way: login.hops[..<index].map(\.server)))
      try await context.make(SSHLoginCheck(stop: stop))
    }
    try await context.make(SSHChannelCheck(transport: self, address: address, error: login.error))
    return login.opening == .dial ? .free : .unasked
  }

  package func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis? {
    guard case .dial(.command(let command))? = try? SSHTarget(address).purpose else { return nil }
    return Diagnosis(chatterOf: "\"\(command.prefix(80))\"", error)
  }
}

extension HostSettings {
  /// Advice for a host that cannot be reached directly.
  var proxyCommandAdvice: String? {
    proxyCommand.map {
      "ssh would go by ProxyCommand (\($0)), which byway does not run: write ProxyJump there, or let ssh carry the link "
        + "(exec:ssh HOST …)."
    }
  }
}
