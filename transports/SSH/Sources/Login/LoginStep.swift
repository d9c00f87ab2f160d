import Byway

/// An attempt to log in, which the session makes (RFC 4252).
enum LoginStep: Sendable {
  case publicKey(PublicKeyLogin)
  case lockedKey(LockedKeyLogin)
  case password(Secret)
  case keyboardInteractive(KeyboardLogin)

  /// The outcome of a step that did not log the user in.
  enum Outcome {
    case refused
    /// The key's signature could not be made, so the server has not seen one.
    case unsigned
  }
}

/// An attempt with a key that an agent or a file holds (RFC 4252 §7).
struct PublicKeyLogin: Sendable {
  /// The key's name for messages: `agent key "me@laptop"`, `~/.ssh/id_ed25519`.
  let name: String
  /// The signature's algorithm, and the one to name in the request: `ssh-ed25519`, `rsa-sha2-512`.
  let algorithm: String
  /// The public key as the agent and the server know it.
  let blob: [UInt8]
  /// Signs the session's bytes, and returns the signature itself: the inner string, without the algorithm's name (RFC 4253
  /// §6.6). Returns `nil` if the key is locked: the server would accept it, and the plan continues with a ``LockedKeyLogin``.
  /// Ends by the plan's deadline.
  let sign: @Sendable (_ bytes: [UInt8]) async throws(BywayError) -> [UInt8]?
}

/// An attempt with a key that the session must unlock. It may end unsigned because the passphrase is wrong.
struct LockedKeyLogin: Sendable {
  let name: String
  let key: LockedKey
  let passphrase: Secret
}

/// An attempt that answers the server's questions (RFC 4256).
struct KeyboardLogin: Sendable {
  struct Prompt: Sendable, Hashable {
    let text: String
    /// Whether the typed answer may be shown.
    let echo: Bool
  }

  /// Answers each prompt in order, immediately and on any thread. A prompt without an answer yet gets an empty one, which fails
  /// the attempt. The user is asked before the next attempt.
  let answer: @Sendable (_ instruction: String, _ prompts: [Prompt]) -> [Secret]
}
