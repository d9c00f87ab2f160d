import Foundation
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("ssh_config in comparison with ssh -G")
struct ConfigOracleTests {
  /// The settings for a host, in the words of `ssh -G`.
  struct Answer: Equatable, CustomStringConvertible {
    var lines: [String]
    var description: String { lines.joined(separator: "\n") }
  }

  private static let keywords = [
    "hostname", "user", "port", "hostkeyalias", "proxyjump", "identitiesonly", "identityagent", "userknownhostsfile",
    "globalknownhostsfile", "stricthostkeychecking", "hashknownhosts", "batchmode",
  ]

  static func ssh(_ file: String, _ host: String) async throws -> Answer {
    let result = try await Program.ssh.run(["-G", "-F", file, host], environment: ["SSH_AUTH_SOCK": ""])
    guard result.exitCode == 0 else { throw PeerFailure(result.errorText) }
    let lines = result.text.split(separator: "\n").map(String.init)
    return Answer(
      lines: keywords.flatMap { keyword in
        lines.filter { $0.hasPrefix("\(keyword) ") }.map {
          $0.replacing("stricthostkeychecking ask", with: "stricthostkeychecking true")
            .replacing("stricthostkeychecking false", with: "stricthostkeychecking accept-new")
        }
      })
  }

  static func byway(_ file: String, _ host: String) async throws -> Answer {
    var options = LoginOptions()
    options.config = file
    var account = LocalAccount.current()
    account.variables = { ProcessInfo.processInfo.environment[$0] }
    let settings = try await HostSettings.resolve(alias: host, user: nil, port: nil, options: options, account: account)
    var lines = ["hostname \(settings.host)", "user \(settings.user)", "port \(settings.port)"]
    lines += settings.hostKeyAlias.map { ["hostkeyalias \($0)"] } ?? []
    if !settings.jumps.isEmpty {
      let jumps = settings.jumps.map { jump in
        let host = jump.host.contains(":") ? "[\(jump.host)]" : jump.host
        return (jump.user.map { "\($0)@" } ?? "") + host + (jump.port.map { ":\($0)" } ?? "")
      }
      lines.append("proxyjump \(jumps.joined(separator: ","))")
    }
    lines.append("identitiesonly \(settings.identitiesOnly ? "yes" : "no")")
    lines += settings.agentSocket.map { ["identityagent \($0)"] } ?? []
    lines.append("userknownhostsfile \(settings.userKnownHosts.joined(separator: " "))")
    lines.append("globalknownhostsfile \(settings.globalKnownHosts.joined(separator: " "))")
    lines.append("stricthostkeychecking \(settings.keyChecking == .strict ? "true" : "accept-new")")
    lines.append("hashknownhosts \(settings.hashesKnownHosts ? "yes" : "no")")
    lines.append("batchmode \(settings.asksNobody ? "yes" : "no")")
    return Answer(lines: lines)
  }

  static let texts = [
    "empty": "",
    "hosts": """
    # a comment
    Host foo bar.*
      HostName real.example.org
      Port 2222
      User alice
    Host * !bar.x
      User bob
    Host *
      Port 4
    """,
    "negation": """
    Host !foo *
      User notfoo
    Host !foo
      User never
    Host "fo?"
      User fo
    """,
    "spelling": """
    \thOsT=foo
        HOSTNAME =  Up.Example.COM
    \tPort="2200"
      User 'al ice'   # and a comment
    \"User\" second
    """,
    "tokens": """
    Host *
      HostName %h.inner
      UserKnownHostsFile ~/kh "/tmp/a b/%h" /tmp/%r-%n-%p-%u-%i-%d ${HOME}/x
      GlobalKnownHostsFile /g1 /g2
      IdentityAgent ~/agent-%r%%.sock
      User me
      Port 77
    """,
    "jumps": """
    Host foo
      ProxyJump a,bob@b:22,[::1]:33,ssh://c:44
    Host bar
      ProxyJump none
    Host *
      ProxyJump last
    """,
    "trust": """
    Host foo
      StrictHostKeyChecking accept-new
      HostKeyAlias alias
      HashKnownHosts yes
      IdentitiesOnly yes
      BatchMode yes
    Host bar
      StrictHostKeyChecking no
    Host *
      StrictHostKeyChecking yes
      HashKnownHosts no
    """,
    "match": """
    Match all
      User first
    Host foo
      Port 3
    Match all
      Port 5
      HostKeyAlias later
    """,
    "continues": """
    User one
    User two
    Host foo bar

    Port 9
    Ciphers aes128-ctr
    ServerAliveInterval 30
    """,
  ]

  @Test("a configuration file gives the same settings as ssh -G prints", arguments: texts.keys.sorted())
  func agrees(name: String) async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(#require(Self.texts[name]) + "\n", to: "config")
    for host in ["foo", "FOO", "bar.x", "bar", "192.0.2.1"] {
      #expect(try await Self.byway(file, host) == Self.ssh(file, host), "\(host)")
    }
  }

  @Test("an included file applies at the place of its Include")
  func include() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder["d"], withIntermediateDirectories: false)
    try folder.write("Host foo\n  Port 11\n", to: "d/2.conf")
    try folder.write("Port 10\nHost bar\n  User b\nInclude \(folder["d"])/3.in\n", to: "d/1.conf")
    try folder.write("HostKeyAlias deep\n", to: "d/3.in")
    let file = try folder.write(
      """
      Host never
        Include \(folder["d"])/*
      Host foo
        Include "\(folder["d"])/*.conf" \(folder["missing"])
        User after
      Host *
        User last
      """, to: "config")
    for host in ["foo", "bar", "never"] {
      #expect(try await Self.byway(file, host) == Self.ssh(file, host), "\(host)")
    }
  }

  @Test("key files of several lines are all used, each once, as written")
  func identityFiles() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(
      "Host foo\n IdentityFile ~/.ssh/%r_%h\n IdentityFile \"/a b\"\nHost *\n IdentityFile /c\n IdentityFile /c\n",
      to: "config")
    let result = try await Program.ssh.run(["-G", "-F", file, "foo"])
    let printed = result.text.split(separator: "\n").filter { $0.hasPrefix("identityfile ") }.map { $0.dropFirst(13) }
    var reader = ConfigReader(alias: "foo", account: .current())
    try reader.read(file, .named)
    #expect(reader.values.identityFiles == printed.map(String.init))
  }

  @Test(
    "a configuration that ssh refuses is refused",
    arguments: ["Port 0", "Port x", "IdentitiesOnly maybe", "ProxyJump a:b:c", "User"])
  func refused(line: String) async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("\n\(line)\n", to: "config")
    await #expect(throws: PeerFailure.self) { try await Self.ssh(file, "foo") }
    let error = await bywayError { try await Self.byway(file, "foo") }
    #expect(error?.message.hasPrefix("\(file):2: ") == true, "\(error?.message ?? "")")
  }
}
