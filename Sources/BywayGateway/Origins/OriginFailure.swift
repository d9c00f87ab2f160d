import Byway
import Glibc
import Primitives

/// A server that a gateway connects to, with its name for messages.
struct NamedServer: Sendable, Hashable {
  /// The source of the name.
  enum Source: Sendable, Hashable {
    /// `--origin`
    case origin
    /// A client's request, permitted by `--allow`.
    case client
    /// `--upstream-proxy`
    case upstreamProxy
  }

  let name: String
  let source: Source
}

/// Explains failures to connect to an origin to the user.
enum OriginFailure {
  static func explain(_ error: any Error, _ server: NamedServer) -> BywayError {
    if let error = error as? BywayError { return error }
    let reason = ConnectFailure(error)
    if case .timeout = reason {
      let message = "\(server.name) did not accept a connection in time (--connect-timeout)."
      return BywayError(.timedOut, message, processing: .none, cause: error)
    }
    return BywayError(.originUnavailable, message(reason, server), processing: .none, cause: error)
  }

  private static func message(_ reason: ConnectFailure, _ server: NamedServer) -> String {
    let name = server.name
    return switch reason {
    case .system(ECONNREFUSED): "Nothing listens at \(name): \(advice(server.source))."
    case .system(ENOENT): "\(name) does not exist: \(advice(server.source))."
    case .system(EACCES): "No permission to connect to \(name): run the gateway as a user who may."
    case .system(ENETUNREACH), .system(EHOSTUNREACH): "There is no route from the gateway to \(name)."
    case .system(let code): "Cannot connect to \(name): \(SystemError(code: code))."
    case .unknownHost: "The host name in \(name) cannot be resolved where the gateway runs: check its spelling."
    case .timeout, .other: "\(name) cannot be reached."
    }
  }

  private static func advice(_ source: NamedServer.Source) -> String {
    switch source {
    case .origin: "start the origin, or correct --origin"
    case .client: "start the server there, or check the port"
    case .upstreamProxy: "start it, or correct --upstream-proxy"
    }
  }
}
