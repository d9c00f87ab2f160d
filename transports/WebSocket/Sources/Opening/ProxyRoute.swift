import Byway
import BywayHTTP1Session
import BywayHTTPWire
import BywayPrimitives
import NIOCore
import NIOPosix

/// An HTTP proxy on the way to a hub, through which a link goes by CONNECT (RFC 9110 §9.3.6).
struct ProxyRoute: Sendable {
  private enum Password: Sendable {
    case variable(String)
    case file(String)
  }

  private let place: LinkAddress.HostPort
  private let port: Int
  private let login: (user: String, password: Password)?

  /// - Returns: `nil` if the address names no proxy.
  init?(_ address: LinkAddress) throws(BywayError) {
    let source = address[option: "proxy-password"]
    guard let text = address[option: "proxy"] else {
      guard source == nil else { throw Self.malformed("proxy-password= has no effect without proxy=") }
      return nil
    }
    guard let proxy = try? LinkAddress(text), proxy.scheme == "http", proxy.options.isEmpty,
      proxy.path.isEmpty || proxy.path == "/", var place = try? proxy.hostPort(), let port = place.port, port != 0
    else { throw Self.malformed("proxy= is not the address of an HTTP proxy") }
    self.port = port
    switch (place.user.take(), source) {
    case (let user?, let source?):
      guard let name = PercentEncoding.decode(user), !name.isEmpty, !name.contains(":") else {
        throw Self.malformed("The user in proxy= must not contain a password or a colon")
      }
      let isVariable = source.hasPrefix("env:")
      login = (name, isVariable ? .variable(String(source.dropFirst(4))) : .file(source))
    case (nil, nil): login = nil
    default: throw Self.malformed("A proxy with a login needs both its user in proxy= and proxy-password=")
    }
    self.place = place
  }

  private static func malformed(_ problem: String) -> BywayError {
    BywayError(
      .invalidAddress,
      "\(problem): write proxy=http://HOST:PORT, or proxy=http://USER@HOST:PORT&proxy-password=FILE (or env:NAME).")
  }

  /// Reads the password.
  func check(code: BywayError.Code) throws(BywayError) {
    _ = try authorization(code: code)
  }

  /// The value of Proxy-Authorization (RFC 7617).
  private func authorization(code: BywayError.Code) throws(BywayError) -> String? {
    guard let login else { return nil }
    let password: String
    switch login.password {
    case .file(let path): password = try SecretFile.read(path, option: "proxy-password", code: code)
    case .variable(let name):
      guard let value = Environment[name], !value.isEmpty else {
        throw BywayError(code, "The environment variable \(name) (proxy-password=) is not set.", processing: .none)
      }
      password = value
    }
    return "Basic \(Base64.encode(Array("\(login.user):\(password)".utf8)))"
  }

  /// Opens a tunnel.
  /// - Parameter target: the host and port of the hub.
  /// - Returns: a channel that does not read yet.
  func dial(_ target: String, context: LinkContext) async throws -> any Channel {
    let authorization = try authorization(code: .linkUnavailable)
    let channel: any Channel
    do {
      channel = try await ClientBootstrap(group: context.group)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .connectTimeout(context.deadline - .now())
        .channelInitializer { $0.prepareForHandover() }
        .connect(host: place.host, port: port).get()
    } catch {
      throw ConnectFailure.error(error, connectingTo: "the proxy \(place)", of: "it")
    }
    let (terms, deadline) = (Terms(proxy: "\(place)", target: target, hasLogin: login != nil), context.deadline)
    try await channel.eventLoop.flatSubmit {
      var request = FieldSection()
      request.append(.method, "CONNECT")
      request.append(.authority, target)
      if let authorization { request.append(.proxyAuthorization, authorization) }
      return TunnelRequest.send(request, on: channel, by: deadline, terms.ofTunnel)
    }.get()
    return channel
  }

  private struct Terms: Sendable {
    let proxy: String
    let target: String
    let hasLogin: Bool

    var ofTunnel: TunnelRequest.Terms {
      TunnelRequest.Terms(
        opened: { _ throws(BywayError) in
          let gate = HandoverGate()
          gate.hold()
          return [gate]
        },
        refused: { refusal($0.status ?? 0) },
        failed: { failure in
          error(
            .notConnected,
            "ended the connection\(failure.map { ": \($0.message)" } ?? ". Does an HTTP proxy listen there?")")
        },
        late: { error(.noAnswer, "opened no tunnel to \(target) in time.") })
    }

    private func refusal(_ status: Int) -> BywayError {
      switch status {
      case 407 where hasLogin:
        error(.loginRefused, "refuses the login: correct the user in proxy=, and proxy-password=.")
      case 407: error(.passwordWanted, "wants a login: write proxy=http://USER@HOST:PORT and proxy-password=.")
      case 403: error(.loginRefused, "does not allow \(target): ask its administrator.")
      case 502, 503, 504:
        error(.notConnected, "does not reach \(target): it answered \(status). Check the host and port.")
      default:
        error(.notConnected, "opened no tunnel to \(target): it answered \(status). Does an HTTP proxy listen there?")
      }
    }

    private func error(_ fault: LinkFault, _ problem: String) -> BywayError {
      BywayError(.linkUnavailable, Diagnosis(fault, "The proxy \(proxy) \(problem)"))
    }
  }
}
