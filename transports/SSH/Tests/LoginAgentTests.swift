import Byway
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Communication with an ssh-agent")
struct LoginAgentTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var soon: NIODeadline { .now() + .seconds(60) }

  @Test("the agent's keys are listed in its order, and ssh-keygen accepts its signatures, RSA with SHA-2")
  func sign() async throws {
    let agent = try await SSHAgent()
    var paths: [String] = []
    for (name, arguments) in [("a", ["-t", "rsa", "-b", "2048"]), ("b", ["-t", "ed25519"]), ("c", ["-t", "ecdsa"])] {
      paths.append(try await KeyMaker.make(name, arguments, in: folder))
      try await agent.add(paths[paths.count - 1])
    }
    let identities = try await agent.client.identities(until: soon)
    #expect(identities.map(\.comment) == ["a", "b", "c"])
    #expect(try identities.map(\.key) == paths.map(KeyMaker.publicKey))
    for key in identities.map(\.key) {
      let signature = try await agent.client.sign(
        SignatureCheck.signed, with: key, algorithm: key.signatureAlgorithm, until: soon)
      #expect(try await SignatureCheck.isGood(signature, by: key), "\(key)")
    }
    await agent.process.stop()
  }

  @Test("signing with a key that the agent does not have fails")
  func missingKey() async throws {
    let agent = try await SSHAgent()
    let key = try await KeyMaker.publicKey(KeyMaker.make("k", in: folder))
    let error = await bywayError {
      try await agent.client.sign([1], with: key, algorithm: key.type, until: soon)
    }
    #expect(error?.message.contains("refused to sign with ED25519") == true)
    #expect(try await agent.client.identities(until: soon).isEmpty)
    await agent.process.stop()
  }

  @Test("if the agent is gone, the error names its socket")
  func gone() async throws {
    let agent = try await SSHAgent()
    await agent.process.stop()
    let error = await bywayError { try await agent.client.identities(until: soon) }
    #expect(error?.code == .linkUnavailable)
    #expect(error?.message == "The ssh-agent at \(agent.path) cannot be reached: is it running?")
    let client = AgentClient(path: "/" + String(repeating: "x", count: 200), group: agent.client.group)
    #expect(await bywayError { try await client.identities(until: soon) } != nil)
  }

  @Test("an agent that has stopped is given up at the deadline")
  func stopped() async throws {
    let agent = try await SSHAgent()
    agent.process.send(SIGSTOP)
    let error = await bywayError { try await agent.client.identities(until: .now() + .milliseconds(300)) }
    #expect(error?.message.hasSuffix("did not answer in time.") == true)
    agent.process.send(SIGCONT)
    await agent.process.stop()
  }

  @Test(
    "if an agent sends invalid data, the request fails at once, whether the agent closes the socket or not",
    arguments: [
      ([0xFF, 0xFF, 0xFF, 0xFF], "not an agent's answer"),
      ([0, 0, 0, 0], "not an agent's answer"),
      ([0, 4, 0, 1, 12], "not an agent's answer"),
      (FalseAgent.message(5), "is it locked"),
      (FalseAgent.message(99), "is it locked"),
      (FalseAgent.message(12), "is it locked"),
      (FalseAgent.message(12, [0xFF, 0xFF, 0xFF, 0xFF]), "is it locked"),
      (FalseAgent.message(12, [0, 0, 0, 1]), "cannot be read"),
      (FalseAgent.message(12, [0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF]), "cannot be read"),
    ] as [([UInt8], String)])
  func nonsense(bytes: [UInt8], words: String) async throws {
    for ending in [FalseAgent.Ending.closes, .staysOpen] {
      let agent = try await FalseAgent(answering: bytes, then: ending)
      let error = await bywayError { try await agent.client.identities(until: soon) }
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
      try await agent.close()
    }
  }

  @Test("if an agent dies in the middle of an answer, the request fails at once")
  func cut() async throws {
    let agent = try await FalseAgent(answering: [0, 0, 0, 100, 12, 0, 0], then: .closes)
    let error = await bywayError { try await agent.client.identities(until: soon) }
    #expect(error?.message.contains("ended without an answer") == true)
    try await agent.close()
  }

  @Test("if an agent is too old for SHA-2, the error says so")
  func oldAgent() async throws {
    var signature = WireWriter()
    signature.string("ssh-rsa".utf8)
    signature.string([1, 2, 3])
    var body = WireWriter()
    body.string(signature.bytes)
    let agent = try await FalseAgent(answering: FalseAgent.message(14, body.bytes), then: .staysOpen)
    let key = try TrustKnownHostsTests.key("ssh-rsa")
    let error = await bywayError {
      try await agent.client.sign(
        [1], with: key, algorithm: "rsa-sha2-512", until: soon)
    }
    #expect(error?.message.contains("signs with ssh-rsa where rsa-sha2-512 was asked for") == true)
    try await agent.close()
  }

  @Test("control characters are removed from the comment of an agent's key")
  func comment() async throws {
    var body = WireWriter()
    body.uint32(1)
    body.string(try TrustKnownHostsTests.key().blob)
    body.string(Array("a\u{1B}[2Jb\r\nc".utf8))
    let agent = try await FalseAgent(answering: FalseAgent.message(12, body.bytes), then: .staysOpen)
    let identities = try await agent.client.identities(until: soon)
    #expect(identities.map(\.comment) == ["a?[2Jb  c"])
    try await agent.close()
  }
}
