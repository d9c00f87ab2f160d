import Byway
import NIOSSL
import Synchronization

/// The TLS contexts of a policy's hosts, each created once: the system's authorities alone take a megabyte. Safe on any thread.
package final class TLSContexts: Sendable {
  struct Key: Hashable {
    let anchors: [NIOSSLCertificate]?
    let identity: ClientIdentity?
    let protocols: [String]
    /// Whether the owner of the handshake decides what is accepted, including names.
    let isExact: Bool
  }

  package let policy: TLSPolicy
  private let contexts = Mutex<[Key: NIOSSLContext]>([:])

  package init(_ policy: TLSPolicy) {
    self.policy = policy
  }

  func context(_ key: Key) throws -> NIOSSLContext {
    try contexts.withLock { contexts in
      if let context = contexts[key] { return context }
      let context = try Self.make(key)
      contexts[key] = context
      return context
    }
  }

  private static func make(_ key: Key) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = key.protocols
    if let anchors = key.anchors { configuration.trustRoots = .certificates(anchors) }
    if key.isExact { configuration.certificateVerification = .noHostnameVerification }
    // The time limit for the remote end's answer to our close_notify.
    configuration.shutdownTimeout = .seconds(1)
    key.identity?.apply(to: &configuration)
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw BywayError(
        .invalidAddress, "The machine's list of trusted authorities cannot be read: install ca-certificates.",
        processing: .none, cause: error)
    }
  }
}
