import Byway

/// One attempt to log in, for the session to make (RFC 4252).
enum LoginStep: Sendable {
  case publicKey(PublicKeyLogin)
  case lockedKey(LockedKeyLogin)
  case password(Secret)
  case keyboardInteractive(KeyboardLogin)

  /// How a step ended that did not let anybody in.
  enum Outcome {
    case refused
    /// The key's signature could not be made, so that the server has not seen any.
    case unsigned
  }
}

/// An attempt with a key that an agent or a file holds (RFC 4252 §7).
struct PublicKeyLogin: Sendable {
  /// For messages: `agent key "me@laptop"`, `~/.ssh/id_ed25519`.
  let name: String
  /// The signature's algorithm, and the one to name in the request: `ssh-ed25519`, `rsa-sha2-512`.
  let algorithm: String
  /// The public key as the agent and the server know it.
  let blob: [UInt8]
  /// Signs what the session gives, and answers with the signature proper: the inner string, without the algorithm's name
  /// (RFC 4253 §6.6); `nil` where the key is locked: the server would take it, and the plan goes on with a
  /// ``LockedKeyLogin``. Ends by the plan's deadline.
  let sign: @Sendable (_ bytes: [UInt8]) async throws(BywayError) -> [UInt8]?
}

/// An attempt with a key that the session has to unlock. It may be unsigned because the passphrase is wrong.
struct LockedKeyLogin: Sendable {
  let name: String
  let key: LockedKey
  let passphrase: Secret
}

/// An attempt that answers the server's questions (RFC 4256).
struct KeyboardLogin: Sendable {
  struct Prompt: Sendable, Hashable {
    let text: String
    /// Whether what is typed may be seen.
    let echo: Bool
  }

  /// Answers at once, one for each prompt and in their order, on whatever thread the session calls it. A prompt that
  /// nobody has answered yet gets an empty answer, fails the attempt, and is put to the person before the next one.
  let answer: @Sendable (_ instruction: String, _ prompts: [Prompt]) -> [Secret]
}
