/// The users whose requests a cache answers (RFC 9111 §1).
public enum CacheKind: Sendable, Hashable {
  /// A single user: the cache keeps what is meant for that user.
  case `private`
  /// Any number of users. None of them may get what was meant for another.
  case shared
}
