import Byway
import BywayLibC
import BywayPrimitives

/// A server that a gateway connects to, with its name for messages.
struct NamedServer: Sendable, Hashable {
  /// The source of the name.
  enum Source: Sendable, Hashable {
    /// The gateway's configuration.
    case origin
    /// A client's request, permitted by an ``AllowRule``.
    case client
    /// The address of an ``UpstreamProxy``.
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
      return BywayError(.timedOut, advice: .raise(.connectTimeout), processing: .none, cause: error) { advice in
        "\(server.name) did not accept a connection in time (\(advice))."
      }
    }
    var failure = BywayError(.originUnavailable, message(reason, server), processing: .none, cause: error)
    if case .system(ECONNREFUSED) = reason { failure.advice = server.source.correction }
    if case .system(ENOENT) = reason { failure.advice = server.source.correction }
    return failure
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
    case .origin: "start the origin, or \(Advice.correctOrigin)"
    case .client: "start the server there, or check the port"
    case .upstreamProxy: "start it, or \(Advice.correctUpstreamProxy)"
    }
  }
}

extension NamedServer.Source {
  /// The advice if nothing is there; `nil` if this gateway did not choose the server.
  fileprivate var correction: Advice? {
    switch self {
    case .origin: .correctOrigin
    case .client: nil
    case .upstreamProxy: .correctUpstreamProxy
    }
  }
}
