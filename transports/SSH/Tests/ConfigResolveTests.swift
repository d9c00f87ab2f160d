import Byway
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Settings of a host from the address and the files")
struct ConfigResolveTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["home", "home/.ssh", "etc"] {
      try FileManager.default.createDirectory(atPath: folder[name], withIntermediateDirectories: false)
    }
  }

  private var account: LocalAccount {
    LocalAccount(
      home: folder["home"], user: "local", id: getuid(), machine: "m.test", variables: { $0 == "SOCK" ? "/sock" : nil },
      systemFolder: folder["etc"])
  }

  private func resolve(
    _ options: LoginOptions = LoginOptions(), alias: String = "foo", user: String? = nil, port: Int? = nil
  ) async throws -> HostSettings {
    try await HostSettings.resolve(alias: alias, user: user, port: port, options: options, account: account)
  }

  @Test("without a configuration file, the settings are ssh's defaults")
  func defaults() async throws {
    let settings = try await resolve(alias: "Foo.Test")
    #expect(settings.host == "foo.test")
    #expect(settings.user == "local")
    #expect(settings.port == 22)
    #expect(settings.keyChecking == .strict)
    #expect(settings.identityFiles == ["id_ed25519", "id_ecdsa", "id_rsa"].map { folder["home/.ssh/\($0)"] })
    #expect(settings.hasDefaultIdentities)
    #expect(settings.userKnownHosts == [folder["home/.ssh/known_hosts"], folder["home/.ssh/known_hosts2"]])
    #expect(settings.globalKnownHosts == [folder["etc/ssh_known_hosts"], folder["etc/ssh_known_hosts2"]])
    #expect(settings.agentSocket == nil)
  }

  @Test("the address takes precedence over the user's file, which takes precedence over the system's")
  func order() async throws {
    try folder.write("User mine\nPort 1\n", to: "home/.ssh/config")
    try folder.write("User theirs\nPort 2\nHostName sys.test\nIdentityAgent $SOCK\n", to: "etc/ssh_config")
    var settings = try await resolve(port: 3)
    #expect(settings.user == "mine")
    #expect(settings.port == 3)
    #expect(settings.host == "sys.test")
    #expect(settings.agentSocket == "/sock")
    settings = try await resolve(user: "address")
    #expect(settings.user == "address")
    #expect(settings.port == 1)
  }

  @Test("config=FILE replaces both files, and config=none reads no file")
  func configOption() async throws {
    try folder.write("User mine\n", to: "home/.ssh/config")
    try folder.write("User theirs\nPort 2\n", to: "etc/ssh_config")
    try folder.write("HostName named.test\n", to: "home/named")
    var options = LoginOptions()
    options.config = "~/named"
    var settings = try await resolve(options)
    #expect(settings.host == "named.test")
    #expect(settings.user == "local")
    #expect(settings.port == 22)
    options.config = "none"
    settings = try await resolve(options)
    #expect(settings.host == "foo")
    options.config = folder["missing"]
    let error = await bywayError { try await resolve(options) }
    #expect(error?.message.contains("Cannot read \(folder["missing"]): No such file or directory") == true)
  }

  @Test("identity=, known_hosts= and host-key-checking= replace the settings of the files")
  func options() async throws {
    try folder.write(
      "IdentityFile /a\nUserKnownHostsFile /b\nStrictHostKeyChecking no\n", to: "home/.ssh/config")
    let settings = try await resolve(
      LoginOptions(LinkAddress("ssh://h?identity=~/k&known_hosts=/kh&host-key-checking=strict&password=env:P")))
    #expect(settings.identityFiles == [folder["home/k"]])
    #expect(settings.identitiesOnly)
    #expect(!settings.hasDefaultIdentities)
    #expect(settings.userKnownHosts == ["/kh"])
    #expect(settings.keyChecking == .strict)
    #expect(settings.password?.variable == "P")
  }

  @Test("keywords that apply, are not understood and may matter are listed with their places")
  func ignored() async throws {
    let file = try folder.write(
      """
      Ciphers aes128-ctr
      Host other
        LocalForward 1 2
      Match exec "true"
        User never
      Host *
        ServerAliveInterval 5
        SendEnv LANG LC_* COLORTERM NO_COLOR
        GSSAPIAuthentication yes
        IdentityFile /%Z
      """, to: "home/.ssh/config")
    let settings = try await resolve()
    #expect(
      settings.ignored == [
        "\(file):1: Ciphers", "\(file):4: Match exec true", "\(file):7: ServerAliveInterval",
        "/%Z: a token or a variable in it is unknown",
      ])
    #expect(settings.user == "local")
  }

  @Test("the error for an unreachable host names a ProxyCommand, unless it is none or ProxyJump applies")
  func proxyCommand() async throws {
    let file = try folder.write("Host *\n  ProxyCommand nc -X connect %h %p\n", to: "home/.ssh/config")
    let settings = try await resolve()
    #expect(settings.proxyCommand == "\(file):2")
    let failure = SSHFailure(settings).connecting(IOError(errnoCode: ECONNREFUSED, reason: "connect"))
    #expect(failure.message.contains("ProxyCommand (\(file):2)") && failure.message.contains("ProxyJump"))
    try folder.write("ProxyJump gate\nProxyCommand nc %h\n", to: "home/.ssh/config")
    #expect(try await resolve().proxyCommand == nil)
    try folder.write("ProxyCommand none\n", to: "home/.ssh/config")
    #expect(try await resolve().proxyCommand == nil)
  }

  @Test("relative includes are in ~/.ssh for the user's file, and next to the system's")
  func relativeIncludes() async throws {
    try folder.write("Include more\n", to: "home/.ssh/config")
    try folder.write("User included\n", to: "home/.ssh/more")
    try folder.write("Include more\n", to: "etc/ssh_config")
    try folder.write("User never\nPort 99\n", to: "etc/more")
    let settings = try await resolve()
    #expect(settings.user == "included")
    #expect(settings.port == 99)
  }

  @Test("a file that includes itself ends with an error, once or by a pattern", arguments: ["config", "conf*"])
  func loop(pattern: String) async throws {
    try folder.write("Include \(pattern) \(pattern)\n", to: "home/.ssh/config")
    let error = await bywayError { try await resolve() }
    #expect(error?.message.contains("does a file include itself?") == true)
  }

  @Test("the user's file is not read if other users may write to it")
  func permissions() async throws {
    let file = try folder.write("User mine\n", to: "home/.ssh/config")
    chmod(file, 0o666)
    let error = await bywayError { try await resolve() }
    #expect(error?.message.contains("belongs to another user, or other users can change it") == true)
  }

  @Test("a configuration with an unclosed quote, or bytes that are not text, does not crash the parser")
  func garbage() async throws {
    let file = try folder.write("Port 5\nUser \"open\n", to: "home/.ssh/config")
    let error = await bywayError { try await resolve() }
    #expect(error?.message.hasPrefix("\(file):2: a quotation mark is not closed") == true)
    try Data((0...255).map { UInt8($0) } + [10]).write(to: URL(filePath: file))
    _ = await bywayError { try await resolve() }
  }

  @Test("a password is for the target host only")
  func jumpOptions() throws {
    let options = try LoginOptions(LinkAddress("ssh://h?password=env:P&config=/c"))
    #expect(options.forJump.password == nil)
    #expect(options.forJump.config == "/c")
  }
}
