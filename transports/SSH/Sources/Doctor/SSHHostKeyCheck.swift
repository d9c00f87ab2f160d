import Byway
import BywayPrimitives

/// Checks that the server's host key is the one that known_hosts lists.
struct SSHHostKeyCheck: LinkCheck {
  static let title = "host key"

  let stop: ExaminedLogin.Stop
  /// The servers before this one (ProxyJump).
  let way: [String]

  private var settings: HostSettings { stop.hop.settings }
  /// The host's name in known_hosts.
  private var name: String {
    "\(KnownHostName(host: settings.hostKeyAlias ?? settings.host, port: settings.hostKeyAlias == nil ? settings.port : 22))"
  }

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    guard let hostKey = stop.hop.hostKey else {
      return .wrong(Diagnosis(.noKeyExchange, stop.error?.message ?? "\(stop.hop.server) showed no host key."))
    }
    let message = stop.error?.message ?? ""
    switch hostKey.verdict {
    case .trusted:
      return .sound("\(hostKey.key) is known.")
    case .unknown where stop.hop.stage >= .trusted:
      let file = settings.userKnownHosts.first ?? "known_hosts"
      return .noted(
        "\(hostKey.key) is new.",
        Diagnosis(
          .unknownHost,
          "\(name) is not a known host yet; the first link that opens adds it to \(file) (accept-new), this examination did not."
        ))
    case .unknown:
      let files = (settings.userKnownHosts + settings.globalKnownHosts).joined(separator: ", ")
      return .wrong(
        Diagnosis(
          .unknownHost,
          "\(name) is not a known host: compare its key, \(hostKey.key), with what \"ssh-keygen -l\" prints at the host, and then add it.",
          command: addingCommand), saw: "No line for it in \(files.isEmpty ? "any file" : files).")
    case .changed(let entries):
      let relevant = Self.relevant(entries, to: hostKey.key)
      let listed = relevant.prefix(4).map { "\($0.line.key) in \($0.place)" }.joined(separator: ", ")
      return .wrong(
        Diagnosis(
          .changedHostKey,
          "\(name) shows another key than the one that is listed (\(listed)): it was reinstalled, or an attacker intercepts the "
            + "connection. If the new key is right, remove the old one.", command: removingCommand(relevant)),
        saw: "\(hostKey.key).")
    case .revoked:
      return .wrong(
        Diagnosis(.revokedHostKey, message), saw: "\(hostKey.key) is revoked.")
    case .certificateAuthority:
      return .wrong(
        Diagnosis(.unknownHost, message, command: addingCommand), saw: "\(hostKey.key) is not listed.")
    }
  }

  /// A command that adds the key. The output of ssh-keyscan names the host that it connected to, so it does not work for a host
  /// behind jump hosts; ssh itself shows the key and asks.
  private var addingCommand: String? {
    guard settings.hostKeyAlias == nil else { return nil }
    let port = settings.port == 22 ? "" : "-p \(settings.port) "
    guard way.isEmpty else {
      let file = settings.userKnownHosts.first.map { "-o \(ShellWord.of("UserKnownHostsFile=\($0)")) " } ?? ""
      return "ssh \(file)-J \(ShellWord.of(way.joined(separator: ","))) \(stop.hop.sshWords) true"
    }
    let file = settings.userKnownHosts.first ?? "~/.ssh/known_hosts"
    return "ssh-keyscan \(port)\(ShellWord.of(settings.host)) >> \(ShellWord.of(file))"
  }

  private func removingCommand(_ entries: [KnownHosts.Entry]) -> String {
    let file = entries.first.map { " -f \(ShellWord.of($0.place.file))" } ?? ""
    return "ssh-keygen -R \(ShellWord.of(name))\(file)"
  }

  /// The entries of the key's type, or all entries if there are none of that type.
  private static func relevant(_ entries: [KnownHosts.Entry], to key: PublicKey) -> [KnownHosts.Entry] {
    let same = entries.filter { $0.line.key.type == key.type }
    return same.isEmpty ? entries : same
  }
}
