import Byway
import NIOCore
import Synchronization

/// The listeners by name. Safe on any thread.
public final class LoopbackNames: Sendable {
  /// The names of the process, which are the default for `loopback:`.
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

  /// Creates an empty store of names.
  public init() {}

  subscript(name: String) -> Listener? { listeners.withLock { $0[name] } }

  var all: [String] { listeners.withLock { $0.keys.sorted() } }

  /// Adds a listener. Returns `false` if the name is taken.
  func add(_ listener: Listener, as name: String) -> Bool {
    listeners.withLock { listeners in
      guard listeners[name] == nil else { return false }
      listeners[name] = listener
      return true
    }
  }

  /// Removes a listener, unless its name now belongs to another one.
  func remove(_ listener: Listener, as name: String) {
    listeners.withLock { listeners in
      if listeners[name] === listener { listeners[name] = nil }
    }
  }
}
