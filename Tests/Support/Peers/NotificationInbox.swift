import Foundation
import Glibc
import Synchronization
import TestTools

/// The service manager's socket, with received notifications in order. It reads continuously, because a full socket blocks the sender.
package final class NotificationInbox: Sendable {
  /// The value of NOTIFY_SOCKET.
  package let name: String
  private let descriptor: CInt
  private let waiting: Waiting

  private final class Waiting: Sendable {
    private let texts = Mutex<[String]>([])

    func append(_ text: String) { texts.withLock { $0.append(text) } }
    func take() -> String? { texts.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
  }

  /// - Parameter name: a path, or @ and the name of an abstract socket.
  package init(_ name: String) throws {
    self.name = name
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(name.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      path.copyBytes(from: bytes)
      if bytes.first == UInt8(ascii: "@") { path[0] = 0 }
    }
    let length = socklen_t(2 + bytes.count)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    let waiting = Waiting()
    self.waiting = waiting
    guard result == 0 else { throw PeerFailure("no socket for notices: \(String(cString: strerror(errno)))") }
    Thread.detachNewThread {
      var bytes = [UInt8](repeating: 0, count: 4096)
      while case let count = recv(descriptor, &bytes, bytes.count, 0), count > 0 || count < 0 && errno == EINTR {
        if count > 0 { waiting.append(String(decoding: bytes[..<count], as: UTF8.self)) }
      }
      close(descriptor)
    }
  }

  deinit {
    shutdown(descriptor, CInt(SHUT_RDWR))
  }

  /// Waits for the next notification that meets the condition, and drops those before it.
  package func next(where isMeant: @escaping (String) -> Bool = { _ in true }) async throws -> String {
    let text = try await eventualValue {
      while let text = waiting.take() {
        if isMeant(text) { return text }
      }
      return nil
    }
    guard let text else { throw PeerFailure("no notice came in time") }
    return text
  }
}
