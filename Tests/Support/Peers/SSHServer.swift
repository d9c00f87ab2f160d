package import Foundation
package import TestTools

/// An OpenSSH server on a loopback port, with its own configuration, host key and user key. It runs as the user who runs the
/// test, and accepts that user only.
package final class SSHServer: Sendable {
  package let port: Int
  package let folder: TemporaryFolder
  package let process: ChildProcess
  package let user = NSUserName()

  /// - Parameters:
  ///   - configuration: lines of sshd_config, which take precedence over the common ones.
  ///   - port: the previous port, for a server that restarts.
  package init(
    in folder: TemporaryFolder, _ configuration: String..., port wanted: Int? = nil
  ) async throws {
    self.folder = folder
    port = try wanted ?? Endpoint.freePort()
    // sshd needs the folder for privilege separation; usually the service unit creates it.
    if getuid() == 0 {
      try? FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
    }
    for name in ["host", "user"] where !FileManager.default.fileExists(atPath: folder[name]) {
      try await Self.makeKey(at: folder[name])
    }
    try folder.write(Self.read(folder["user.pub"]), to: "authorized_keys")
    try folder.write("[127.0.0.1]:\(port) \(Self.read(folder["host.pub"]))", to: "known_hosts")
    let text =
      configuration + [
        "ListenAddress 127.0.0.1:\(port)", "HostKey \(folder["host"])", "PidFile none", "UsePAM no", "StrictModes no",
        "AuthorizedKeysFile \(folder["authorized_keys"])", "PermitRootLogin yes", "PasswordAuthentication no",
        "KbdInteractiveAuthentication no", "MaxStartups 500", "UseDNS no",
      ]
    let path = try folder.write(text.joined(separator: "\n") + "\n", to: "sshd_config")
    process = try ChildProcess(Program.sshd.path(), ["-D", "-e", "-f", path])
    // Read from the server's output: a connection attempt could reach another listener on this port.
    _ = try await process.errorLine(containing: "Server listening on", within: .seconds(10))
  }

  /// The options of an address for the login.
  package var login: String { "identity=\(folder["user"])&known_hosts=\(folder["known_hosts"])&config=none" }

  /// The address without path and options.
  package var base: String { "ssh://\(user)@127.0.0.1:\(port)" }

  /// Returns the address of a link.
  ///
  /// - Parameter place: the part after the host: `/path`, `?tcp=…`.
  package func address(_ place: String) -> String { "\(base)\(place)\(place.contains("?") ? "&" : "?")\(login)" }

  package static func makeKey(at path: String, _ options: String...) async throws {
    let result = try await Program.sshKeygen.run(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path] + options)
    guard result.exitCode == 0 else { throw PeerFailure("ssh-keygen: \(result.errorText)") }
  }

  /// The ids of the processes that serve connections.
  package var sessions: [pid_t] { Self.children(of: process.id) }

  /// Kills the session processes and their unprivileged children, which hold the connections before the login.
  package func killSessions() {
    for id in sessions.flatMap({ Self.children(of: $0) + [$0] }) { kill(id, SIGKILL) }
  }

  private static func children(of id: pid_t) -> [pid_t] {
    let text = (try? String(contentsOfFile: "/proc/\(id)/task/\(id)/children", encoding: .utf8)) ?? ""
    return text.split(separator: " ").compactMap { pid_t($0) }
  }

  /// The number of logins so far.
  package var logins: Int { process.errorText.components(separatedBy: "Accepted ").count - 1 }

  package func stop() async {
    await process.stop()
  }

  private static func read(_ path: String) throws -> String {
    try String(contentsOfFile: path, encoding: .utf8)
  }
}

extension Program {
  package static let sshd = Program(name: "sshd", package: "openssh-server", preferred: ["/usr/sbin/sshd"])
}
