import Byway
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

/// A prompter with prepared answers, which records the questions.
final class FalsePerson: Prompter {
  private let state: Mutex<(answers: [String], questions: [String])>

  init(_ answers: String...) { state = Mutex((answers, [])) }

  var questions: [String] { state.withLock { $0.questions } }

  func ask(_ question: String, echo: Bool, until deadline: NIODeadline) async throws(BywayError) -> Secret? {
    state.withLock { state in
      state.questions.append(question + (echo ? " (echo)" : ""))
      return state.answers.isEmpty ? nil : Secret(Array(state.answers.removeFirst().utf8))
    }
  }
}

extension Secret {
  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}

@Suite("Order of credentials in a login")
struct LoginPlanTests {
  private let folder: TemporaryFolder
  private let log = LogRecord()

  init() throws { folder = try TemporaryFolder() }

  private func settings() -> HostSettings {
    var settings = HostSettings(alias: "host.test", host: "host.test", user: "me")
    settings.identityFiles = [folder["id_ed25519"], folder["id_rsa"]]
    return settings
  }

  private func plan(
    _ settings: HostSettings, _ person: FalsePerson = FalsePerson(), variables: [String: String] = [:],
    memory: LoginMemory = LoginMemory(), agentPatience: TimeAmount = .seconds(60)
  ) -> LoginPlan {
    let group = MultiThreadedEventLoopGroup.singleton
    return LoginPlan(
      settings, group: group, logger: log.logger, deadline: .now() + .seconds(120),
      sources: LoginSources(
        group: group, prompter: person, memory: memory, agentPatience: agentPatience, variable: { variables[$0] }))
  }

  /// The names of all steps while the server offers the same methods.
  private func steps(_ plan: LoginPlan, _ offers: [String]) async throws -> [String] {
    var steps: [String] = []
    while let step = try await plan.next(serverOffers: offers), steps.count < 20 {
      switch step {
      case .publicKey(let login): steps.append(login.name.split(separator: " (").first.map(String.init) ?? "")
      case .password(let secret): steps.append("password \(secret.text)")
      case .keyboardInteractive: steps.append("questions")
      case .lockedKey(let login): steps.append("locked \(login.name)")
      }
    }
    return steps
  }

  @Test("agent keys come first, then key files that the agent does not hold")
  func order() async throws {
    let agent = try await SSHAgent()
    for name in ["other", "id_rsa", "id_ed25519"] { try await KeyMaker.make(name, in: folder) }
    try await agent.add(folder["other"])
    try await agent.add(folder["id_rsa"])
    var settings = settings()
    settings.agentSocket = agent.path
    let offers = ["publickey", "password"]
    // The key that is also named precedes the one that is not.
    let keys = ["the agent's key \"id_rsa\"", "the agent's key \"other\"", folder["id_ed25519"]]
    #expect(try await steps(plan(settings), offers) == keys)
    settings.identitiesOnly = true
    #expect(try await steps(plan(settings), offers) == ["the agent's key \"id_rsa\"", folder["id_ed25519"]])
    #expect(try await steps(plan(settings), ["password"]).isEmpty)
    await agent.process.stop()
  }

  @Test("the keys that a login offers can sign, from the agent and from a file")
  func signs() async throws {
    let agent = try await SSHAgent()
    try await KeyMaker.make("id_ed25519", in: folder)
    try await KeyMaker.make("id_rsa", ["-t", "rsa", "-b", "2048"], in: folder)
    try await agent.add(folder["id_rsa"])
    var settings = settings()
    settings.agentSocket = agent.path
    let plan = plan(settings)
    var algorithms: [String] = []
    while case .publicKey(let login) = try await plan.next(serverOffers: ["publickey"]) {
      let signature = try #require(await login.sign(SignatureCheck.signed))
      #expect(try await SignatureCheck.isGood(signature, by: #require(PublicKey(login.blob))))
      algorithms.append(login.algorithm)
    }
    #expect(algorithms == ["rsa-sha2-512", "ssh-ed25519"])
    await agent.process.stop()
  }

  @Test("if the agent is gone, key files are tried, and the final error names the agent")
  func agentGone() async throws {
    try await KeyMaker.make("id_ed25519", in: folder)
    var settings = settings()
    settings.agentSocket = folder["nobody"]
    let plan = plan(settings)
    #expect(try await steps(plan, ["publickey"]) == [folder["id_ed25519"]])
    let message = await plan.failure(serverOffers: ["publickey"]).message
    #expect(message.contains("The ssh-agent at \(folder["nobody"]) cannot be reached"))
    #expect(message.contains("host.test did not let me in with \(folder["id_ed25519"]) (ED25519 SHA256:"))
    #expect(message.contains("it accepts publickey."))
  }

  @Test("if the agent does not answer, there is time left for the key files")
  func agentSilent() async throws {
    let agent = try await SSHAgent()
    try await KeyMaker.make("id_ed25519", in: folder)
    var settings = settings()
    settings.agentSocket = agent.path
    agent.process.send(SIGSTOP)
    let plan = plan(settings, agentPatience: .milliseconds(300))
    #expect(try await steps(plan, ["publickey"]) == [folder["id_ed25519"]])
    #expect(await plan.failure(serverOffers: ["publickey"]).message.contains("did not answer in time"))
    agent.process.send(SIGCONT)
    await agent.process.stop()
  }

  @Test("if the agent dies after it has listed its keys, signing fails, and the final error says so")
  func agentDies() async throws {
    let agent = try await SSHAgent()
    try await KeyMaker.make("id_ed25519", in: folder)
    try await agent.add(folder["id_ed25519"])
    var settings = settings()
    settings.agentSocket = agent.path
    let plan = plan(settings)
    guard case .publicKey(let login) = try await plan.next(serverOffers: ["publickey"]) else {
      Issue.record("no key was offered")
      return
    }
    await agent.process.stop()
    let error = await bywayError { try await login.sign([1]) }
    #expect(error?.message.contains("cannot be reached") == true)
    #expect(await plan.failure(serverOffers: ["publickey"]).message.contains("cannot be reached"))
  }

  /// The passphrases that the plan tries for the first key if none of them unlocks it.
  private func passphrases(_ plan: LoginPlan) async throws -> [String] {
    guard case .publicKey(let login) = try await plan.next(serverOffers: ["publickey"]) else { return ["no key"] }
    #expect(try await login.sign([1]) == nil)
    var passphrases: [String] = []
    while case .lockedKey(let login) = try await plan.next(serverOffers: ["publickey"], after: .unsigned),
      passphrases.count < 10
    {
      #expect(login.name.hasPrefix(folder["id_ed25519"]))
      passphrases.append(login.passphrase.text)
    }
    return passphrases
  }

  @Test("a passphrase is read from its variable once the server would accept the key")
  func passphraseVariable() async throws {
    try await KeyMaker.make("id_ed25519", passphrase: "hunter2", in: folder)
    var settings = settings()
    settings.passphrase = try SecretSource("env:PHRASE", option: "passphrase")
    let plan = plan(settings, variables: ["PHRASE": "hunter3"])
    #expect(try await passphrases(plan) == ["hunter3"])
    // The server is not at fault.
    #expect(
      await plan.failure(serverOffers: ["publickey"]).message
        == "\(folder["id_ed25519"]): the passphrase in the environment variable PHRASE is wrong. There is no other key "
        + "or password to log in with as me at host.test; it accepts publickey.")
    #expect(!log.all.joined().contains("hunter"))
    let unwanted = self.plan(settings)
    #expect(try await steps(unwanted, ["publickey"]) == [folder["id_ed25519"]])
    let unset = self.plan(settings)
    #expect(await bywayError { try await passphrases(unset) }?.message.contains("PHRASE, which passphrase=") == true)
  }

  @Test("the user has three attempts at a passphrase, and without a terminal the error gives advice")
  func passphrasePerson() async throws {
    try await KeyMaker.make("id_ed25519", passphrase: "right", in: folder)
    let person = FalsePerson("1", "2", "3", "right")
    let plan = plan(settings(), person)
    #expect(try await passphrases(plan) == ["1", "2", "3"])
    #expect(person.questions == [String](repeating: "Passphrase for \(folder["id_ed25519"]): ", count: 3))
    let message = await plan.failure(serverOffers: ["publickey"]).message
    #expect(message.hasPrefix("\(folder["id_ed25519"]): the passphrase is wrong. There is no other key"))
    let nobody = self.plan(settings())
    #expect(try await passphrases(nobody).isEmpty)
    let advice = await nobody.failure(serverOffers: ["publickey"]).message
    #expect(advice.contains("it is encrypted: add it to the ssh-agent (ssh-add FILE), or give passphrase=env:NAME."))
  }

  @Test("if a key stays locked, the next key is tried")
  func nextKey() async throws {
    try await KeyMaker.make("id_ed25519", passphrase: "right", in: folder)
    try await KeyMaker.make("id_rsa", ["-t", "rsa", "-b", "2048"], in: folder)
    let plan = plan(settings())
    guard case .publicKey(let login) = try await plan.next(serverOffers: ["publickey"]) else { return }
    #expect(try await login.sign([1]) == nil)
    guard case .publicKey(let other) = try await plan.next(serverOffers: ["publickey"], after: .unsigned) else {
      Issue.record("no other key")
      return
    }
    #expect(other.name.hasPrefix(folder["id_rsa"]))
    #expect(try await other.sign([1]) != nil)
  }

  @Test("a password from a variable is tried once, and the user is asked up to three times")
  func password() async throws {
    let offers = ["publickey", "password", "keyboard-interactive"]
    let person = FalsePerson("a", "b", "c", "d")
    #expect(try await steps(plan(settings(), person), offers) == ["password a", "password b", "password c"])
    #expect(person.questions.first == "me@host.test's password: ")
    var settings = settings()
    settings.password = try SecretSource("env:PASS", option: "password")
    let asked = FalsePerson("never")
    #expect(try await steps(plan(settings, asked, variables: ["PASS": "p"]), offers) == ["password p"])
    #expect(asked.questions.isEmpty)
    let error = await bywayError { try await plan(settings).next(serverOffers: offers) }
    #expect(error?.message.contains("PASS, which password= names, is not set") == true)
  }

  @Test("a typed password is reused until it is refused, and never sent to another host")
  func memory() async throws {
    let memory = LoginMemory()
    let person = FalsePerson("old", "new")
    let offers = ["password"]
    func first(_ settings: HostSettings) async throws -> [String] {
      guard case .password(let password) = try await plan(settings, person, memory: memory).next(serverOffers: offers)
      else { return [] }
      return [password.text]
    }
    #expect(try await first(settings()) == ["old"])
    #expect(try await first(settings()) == ["old"])
    #expect(person.questions.count == 1)
    #expect(try await steps(plan(settings(), person, memory: memory), offers) == ["password old", "password new"])
    // The last password was refused as well.
    #expect(try await first(settings()).isEmpty)
    memory["me@[host.test]:22"] = Secret(Array("kept".utf8))
    #expect(try await first(settings()) == ["kept"])
    var other = settings()
    other.host = "elsewhere.test"
    #expect(try await first(other).isEmpty)
  }

  @Test("a passphrase is asked for once, for all connections")
  func passphraseMemory() async throws {
    try await KeyMaker.make("id_ed25519", passphrase: "right", in: folder)
    let memory = LoginMemory()
    let person = FalsePerson("right")
    for _ in 0..<2 {
      let plan = plan(settings(), person, memory: memory)
      guard case .publicKey(let login) = try await plan.next(serverOffers: ["publickey"]) else {
        Issue.record("no key was offered")
        return
      }
      _ = try await login.sign([1])
      guard case .lockedKey(let locked) = try await plan.next(serverOffers: ["publickey"], after: .unsigned) else {
        Issue.record("no passphrase")
        return
      }
      #expect(locked.passphrase.text == "right")
    }
    #expect(person.questions.count == 1)
    // Once it is wrong, the person is asked again.
    #expect(try await passphrases(plan(settings(), FalsePerson("new"), memory: memory)) == ["right", "new"])
  }

  @Test("without a terminal and a variable, the error says how to give a password")
  func noTerminal() async throws {
    let plan = plan(settings())
    #expect(try await plan.next(serverOffers: ["password"]) == nil)
    let message = await plan.failure(serverOffers: ["password"]).message
    #expect(
      message
        == "There is no key or password to log in with as me at host.test; it accepts password. Without a terminal, give "
        + "a password with password=env:NAME.")
  }

  @Test("with BatchMode the user is not asked")
  func batchMode() async throws {
    var settings = settings()
    settings.asksNobody = true
    let person = FalsePerson("never")
    #expect(try await plan(settings, person).next(serverOffers: ["password", "keyboard-interactive"]) == nil)
    #expect(person.questions.isEmpty)
  }

  @Test("a server's questions are answered with the password first, and then by the user")
  func questions() async throws {
    typealias Prompt = KeyboardLogin.Prompt
    let prompts = [Prompt(text: "Password: ", echo: false), Prompt(text: "Token: ", echo: true)]
    let person = FalsePerson("first", "second", "123456")
    let plan = plan(settings(), person)
    let offers = ["keyboard-interactive"]
    guard case .keyboardInteractive(let first) = try await plan.next(serverOffers: offers) else {
      Issue.record("no attempt")
      return
    }
    #expect(first.answer("", prompts).map(\.text) == ["first", ""])
    #expect(first.answer("", []).isEmpty)
    guard case .keyboardInteractive(let second) = try await plan.next(serverOffers: offers) else {
      Issue.record("no second attempt")
      return
    }
    #expect(second.answer("", [prompts[0]]).map(\.text) == ["second"])
    #expect(second.answer("", [prompts[1]]).map(\.text) == ["123456"])
    #expect(
      person.questions == [
        "me@host.test's password: ", "(me@host.test) Password: ", "(me@host.test) Token:  (echo)",
      ])
    #expect(try await plan.next(serverOffers: offers) == nil)
  }

  @Test("after a partial success, the next method that the server wants is tried")
  func partial() async throws {
    try await KeyMaker.make("id_ed25519", in: folder)
    let plan = plan(settings(), FalsePerson("p"))
    guard case .publicKey = try await plan.next(serverOffers: ["publickey"]),
      case .password(let password) = try await plan.next(serverOffers: ["password"])
    else {
      Issue.record("not a key, then a password")
      return
    }
    #expect(password.text == "p")
  }

  @Test("the final error names an unusable key file of the settings, but no missing default file")
  func unusable() async throws {
    let plan = plan(settings())
    #expect(try await plan.next(serverOffers: ["publickey"]) == nil)
    #expect(await !plan.failure(serverOffers: ["publickey"]).message.contains(folder.path))
    var settings = settings()
    settings.hasDefaultIdentities = false
    settings.identityFiles = [folder["missing"], try folder.write("garbage", to: "garbage")]
    chmod(folder["garbage"], 0o600)
    let named = self.plan(settings)
    #expect(try await named.next(serverOffers: ["publickey"]) == nil)
    let message = await named.failure(serverOffers: ["publickey"]).message
    #expect(message.contains("\(folder["missing"]): No such file or directory."))
    #expect(message.contains("\(folder["garbage"]): it is not a private key, or damaged."))
  }
}
