import Byway
import NIOCore

/// The keys to offer, in the order that ssh uses: keys that the settings name and the agent holds, the agent's other keys, then
/// keys that only files hold.
struct LoginKeys: Sendable {
  struct Key: Sendable {
    enum Holder: Sendable {
      case agent(AgentClient)
      case file(SigningKey)
      case lockedFile(LockedKey, path: String)
    }

    let name: String
    let publicKey: PublicKey
    let holder: Holder
  }

  /// The reasons why keys are missing.
  private(set) var problems: [LoginProblem] = []
  private var keys: ArraySlice<Key> = []

  mutating func next() -> Key? { keys.popFirst() }

  /// Collects the keys. Those that cannot be read are recorded in ``problems``.
  static func gather(
    _ settings: HostSettings, _ sources: LoginSources, until deadline: NIODeadline
  ) async throws(BywayError) -> LoginKeys {
    let identities = try await Blocking.run { settings.identityFiles.map(Identity.init) }
    var keys = LoginKeys()
    let agent = settings.agentSocket.map { AgentClient(path: $0, group: sources.group) }
    let held = await keys.list(agent, until: min(deadline, .now() + sources.agentPatience))
    keys.addAgentKeys(held, agent, named: Set(identities.compactMap(\.publicKey)), settings)
    let heldKeys = Set(held.map(\.key))
    for identity in identities {
      if let key = identity.publicKey, heldKeys.contains(key) { continue }
      keys.addFile(identity, settings)
    }
    return keys
  }

  /// The key types that log in with a plain signature. Certificates and hardware keys need more than libssh2 1.10 sends.
  private static let types: Set = [
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
  ]

  private mutating func list(_ agent: AgentClient?, until deadline: NIODeadline) async -> [AgentClient.Identity] {
    guard let agent else { return [] }
    do {
      return try await agent.identities(until: deadline)
    } catch {
      problems.append(.agent(path: agent.path, error))
      return []
    }
  }

  private mutating func addAgentKeys(
    _ held: [AgentClient.Identity], _ agent: AgentClient?, named: Set<PublicKey>, _ settings: HostSettings
  ) {
    guard let agent else { return }
    let usable = held.filter { Self.types.contains($0.key.type) }
    if usable.count < held.count {
      problems.append(.agentKinds)
    }
    let first = usable.filter { named.contains($0.key) }
    let others = settings.identitiesOnly ? [] : usable.filter { !named.contains($0.key) }
    keys += (first + others).map { identity in
      Key(
        name: "the agent's key \"\(identity.comment)\" (\(identity.key))", publicKey: identity.key,
        holder: .agent(agent))
    }
  }

  private mutating func addFile(_ identity: Identity, _ settings: HostSettings) {
    switch identity.file {
    case .success(let file): add(file)
    case .failure(.file(.missing)) where settings.hasDefaultIdentities:
      return
    case .failure where identity.isPublicOnly:
      problems.append(.publicHalf(path: identity.path))
    case .failure(let problem):
      problems.append(.file(path: identity.path, problem))
    }
  }

  private mutating func add(_ file: KeyFile) {
    let holder: Key.Holder
    switch file.privateKey {
    case .clear(let key): holder = .file(key)
    case .locked(let key): holder = .lockedFile(key, path: file.path)
    case .unusable(let problem): return problems.append(.file(path: file.path, problem))
    }
    guard Self.types.contains(file.publicKey.type) else {
      return problems.append(.keyType(path: file.path, file.publicKey.type))
    }
    keys.append(Key(name: "\(file.path) (\(file.publicKey))", publicKey: file.publicKey, holder: holder))
  }
}
