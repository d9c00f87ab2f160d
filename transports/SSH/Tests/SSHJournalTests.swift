import Byway
import Foundation
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Journal of SSH servers on a path", .timeLimit(.minutes(3))) struct SSHJournalTests {
  /// Opens a link or fails, and returns the journal's records.
  private func hops(_ address: String) async throws -> (hops: [SSHHop], error: BywayError?) {
    let journal = SSHJournal(mayAsk: false)
    let transport = SSHTransport(keeping: journal)
    let address = try LinkAddress(address)
    let error = await bywayError {
      try await transport.connect(to: address, context: .test(limit: .seconds(60))).close(promise: nil)
    }
    return (journal.hops, error)
  }

  @Test("after a successful login, the journal has the server and its key") func sound() async throws {
    try await SSHRig.with { rig in
      let server = try await LocalServer.start(at: rig.server.folder["s"]) { _ in }
      let (hops, error) = try await hops(rig.server.address(rig.server.folder["s"]))
      #expect(error == nil)
      let hop = try #require(hops.first)
      #expect(hops.count == 1 && hop.stage == .loggedIn)
      #expect(hop.server == "\(rig.server.user)@127.0.0.1:\(rig.server.port)")
      #expect(hop.identification.software?.hasPrefix("OpenSSH_") == true)
      guard case .trusted? = hop.hostKey?.verdict else {
        Issue.record("\(hop.hostKey as Any)")
        return
      }
      #expect(hop.offers == ["publickey"])
      #expect(hop.tried.count == 1 && hop.tried[0].contains(rig.server.folder["user"]))
      await server.stop()
    }
  }

  @Test("the journal does not add a new host to known_hosts, although the link would") func writesNothing() async throws
  {
    try await SSHRig.with { rig in
      let path = rig.server.folder["elsewhere"]
      let options = "identity=\(rig.server.folder["user"])&known_hosts=\(path)&config=none&host-key-checking=accept-new"
      let (hops, error) = try await hops("\(rig.server.base)?command=cat&\(options)")
      #expect(error == nil)
      guard case .unknown? = hops.first?.hostKey?.verdict else {
        Issue.record("\(hops)")
        return
      }
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("after a refused login, the journal has the credentials tried and the accepted methods") func refused()
    async throws
  {
    try await SSHRig.with { rig in
      let other = rig.server.folder["other"]
      try await SSHServer.makeKey(at: other)
      chmod(other, 0o644)
      let config = try rig.server.folder.write(
        "IdentityFile \(other)\nIdentityFile \(rig.server.folder["host"])\n", to: "c")
      let known = rig.server.folder["known_hosts"]
      let (hops, _) = try await hops("\(rig.server.base)?command=cat&known_hosts=\(known)&config=\(config)")
      let hop = try #require(hops.first)
      #expect(hop.stage == .trusted)
      let report = try #require(hop.report)
      #expect(report.tried.count == 1 && report.tried[0].contains(rig.server.folder["host"]))
      guard case .file(other, .exposed)? = report.problems.first else {
        Issue.record("\(report.problems)")
        return
      }
    }
  }

  @Test("if the server ends the login with a message, the journal has it") func farewell() async throws {
    try await SSHRig.with("MaxAuthTries 1") { rig in
      let names = ["one", "two", "three"].map { rig.server.folder[$0] }
      for name in names { try await SSHServer.makeKey(at: name) }
      let config = try rig.server.folder.write(names.map { "IdentityFile \($0)\n" }.joined(), to: "c")
      let known = rig.server.folder["known_hosts"]
      let (hops, _) = try await hops("\(rig.server.base)?command=cat&known_hosts=\(known)&config=\(config)")
      #expect(hops.first?.farewell?.contains("Too many authentication failures") == true, "\(hops)")
    }
  }

  @Test("if one of several servers fails, the journal says which") func jumps() async throws {
    try await SSHRig.with { rig in
      let other = try await SSHServer(in: TemporaryFolder())
      let known = try rig.server.folder.write(
        String(contentsOfFile: rig.server.folder["known_hosts"], encoding: .utf8), to: "known")
      let config = try rig.server.folder.write(
        """
        Host near
          HostName 127.0.0.1
          Port \(rig.server.port)
        Host far
          HostName 127.0.0.1
          Port \(other.port)
          ProxyJump near
        """, to: "c")
      let login = "identity=\(rig.server.folder["user"])&known_hosts=\(known)&config=\(config)"
      let (hops, error) = try await hops("ssh://far?command=cat&\(login)")
      #expect(error != nil && hops.map(\.settings.alias) == ["near", "far"])
      #expect(hops.map(\.stage) == [.loggedIn, .agreed])
      #expect(hops[0].settings.aliases == ["near", "far"])
      await other.stop()
    }
  }

  @Test("the journal examines a socket on the remote host with the host's shell") func farSocket() async throws {
    try await SSHRig.with { rig in
      let folder = rig.server.folder
      let server = try await LocalServer.start(at: folder["it's there"]) { _ in }
      try folder.write("", to: "file")
      let refusal = try await rig.refusal(folder["missing"])
      #expect(refusal?.evidence as? ChannelRefusal == .connectFailed)
      try StaleSocket.make(at: folder["stale"])
      for (name, expected) in [
        ("it's there", FarSocket.there), ("stale", .stale), ("missing", .missing), ("no/folder/x", .missing),
        ("file", .notASocket),
      ] {
        let address = try rig.address(folder[name])
        #expect(await rig.transport.farSocket(of: address, context: .test(limit: .seconds(60))) == expected, "\(name)")
      }
      await server.stop()
    }
  }

  @Test("the journal tells missing permission for a socket from that for its folder") func denied() async throws {
    let folder = try TemporaryFolder()
    let server = try await LocalServer.start(at: folder["s"]) { _ in }
    chmod(folder["s"], 0o600)
    // Root has all permissions.
    let prefix = getuid() == 0 ? [try Program.setpriv.path(), "--reuid=65534", "--clear-groups"] : []
    func look() async throws -> FarSocket? {
      let words = prefix + ["/bin/sh", "-c", FarSocket.command(for: folder["s"])]
      return try await FarSocket(Program.run(words[0], Array(words.dropFirst())).text)
    }
    if getuid() == 0 { try await #expect(look() == .denied) }
    chmod(folder.path, 0o700)
    if getuid() == 0 { try await #expect(look() == .closed(folder: folder.path)) }
    await server.stop()
  }
}
