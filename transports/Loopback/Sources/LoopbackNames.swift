import Byway
import NIOCore
import Synchronization

/// Who listens under which name. Safe on any thread.
public final class LoopbackNames: Sendable {
  /// The one that `loopback:` means unless told otherwise.
  public static let process = LoopbackNames()

  final class Listener: Sendable {
    let group: any EventLoopGroup
    let queue: ChannelQueue

    init(group: any EventLoopGroup, queue: ChannelQueue) {
      self.group = group
      self.queue = queue
    }
  }

  private let listeners = Mutex<[String: Listener]>([:])

  /// Names that nobody listens on yet.
  public init() {}

  subscript(name: String) -> Listener? { listeners.withLock { $0[name] } }

  var all: [String] { listeners.withLock { $0.keys.sorted() } }

  /// `false` where the name is taken.
  func add(_ listener: Listener, as name: String) -> Bool {
    listeners.withLock { listeners in
      guard listeners[name] == nil else { return false }
      listeners[name] = listener
      return true
    }
  }

  /// A name that someone else has taken meanwhile stays.
  func remove(_ listener: Listener, as name: String) {
    listeners.withLock { listeners in
      if listeners[name] === listener { listeners[name] = nil }
    }
  }
}
