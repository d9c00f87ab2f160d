package import TestTools

/// The kinds of link that tests can use without hardware.
package enum LinkKind: String, CaseIterable, Sendable {
  case unix
  case tcp
  /// The link is the standard input and output of a gateway that the proxy starts.
  case exec
  /// The link leads through a local SSH server to the gateway's socket or port.
  case sshSocket, sshPort
  /// The link is the standard input and output of a gateway that the SSH server starts.
  case sshCommand

  /// The size of large transfers. A gibibyte over one kind of link is enough: only the transport differs for the others.
  package var bulk: MarkedFile.Bulk { self == .unix ? .gibibyte : .eighth }
}

/// A running origin, gateway, link and proxy.
package final class Passage: Sendable {
  package let folder: TemporaryFolder
  package let origin: OriginServer
  /// The gateway; `nil` if the proxy starts it, directly or through SSH.
  package let gateway: BywayProcess?
  package let ssh: SSHServer?
  package let proxy: BywayProcess
  /// The link's address as the client specifies it.
  package let link: String
  /// The address that the proxy listens on.
  package let endpoint: Endpoint

  /// - Parameters:
  ///   - origin: the gateway's origin; by default, a new ``OriginServer``.
  package init(
    over kind: LinkKind, gateway gatewayOptions: [String] = [], proxy proxyOptions: [String] = [],
    to other: String? = nil
  ) async throws {
    folder = try TemporaryFolder()
    origin = try await OriginServer(on: .unix(folder["o"]))
    let options = ["--origin", other ?? "\(origin.endpoint)"] + gatewayOptions
    let login = try await Self.sshServer(for: kind, in: folder)
    ssh = login
    switch kind {
    case .unix:
      link = "unix:\(folder["l"])"
      gateway = try await .gateway(["--link", link] + options)
    case .tcp:
      let gateway = try await BywayProcess.gateway(["--link", "tcp://127.0.0.1:0"] + options)
      link = try "tcp://\(gateway.endpoint())"
      self.gateway = gateway
    case .exec:
      link = try (["exec:\(BywayProcess.command())", "gateway", "--link", "stdio:"] + options).joined(separator: " ")
      gateway = nil
    case .sshSocket:
      gateway = try await .gateway(["--link", "unix:\(folder["l"])"] + options)
      link = login?.address(folder["l"]) ?? ""
    case .sshPort:
      let gateway = try await BywayProcess.gateway(["--link", "tcp://127.0.0.1:0"] + options)
      link = try login?.address("?tcp=\(gateway.endpoint())") ?? ""
      self.gateway = gateway
    case .sshCommand:
      let words = try [BywayProcess.command(), "gateway", "--link", "stdio:"] + options
      link = login?.address("?command=\(words.joined(separator: " "))") ?? ""
      gateway = nil
    }
    proxy = try await .proxy(["--link", link, "--listen", "127.0.0.1:0"] + proxyOptions)
    endpoint = try proxy.endpoint()
  }

  private static func sshServer(for kind: LinkKind, in folder: TemporaryFolder) async throws -> SSHServer? {
    switch kind {
    case .unix, .tcp, .exec: nil
    case .sshSocket, .sshPort, .sshCommand: try await SSHServer(in: folder)
    }
  }

  /// The proxy's URL, without a slash at the end.
  package var url: String { "http://\(endpoint)" }

  /// The proxy's host and port.
  package var host: String { "\(endpoint)" }

  package func stop() async {
    await proxy.process.stop()
    await gateway?.process.stop()
    await ssh?.stop()
    await origin.stop()
  }
}

/// An origin with a gateway in front of it, for clients that speak HTTP/2 themselves.
package final class BareGateway: Sendable {
  package let folder: TemporaryFolder
  package let origin: OriginServer
  package let gateway: BywayProcess
  /// The path of the gateway's Unix socket.
  package let socket: String
  private let ending: Ending

  package init(_ options: [String] = [], to other: String? = nil, dropAfter: Int = 0) async throws {
    folder = try TemporaryFolder()
    socket = folder["l"]
    let origin = try await OriginServer(on: .unix(folder["o"]), dropAfter: dropAfter)
    let gateway = try await BywayProcess.gateway(
      ["--link", "unix:\(socket)", "--origin", other ?? "\(origin.endpoint)"] + options)
    (self.origin, self.gateway) = (origin, gateway)
    ending = Ending {
      await gateway.process.stop()
      await origin.stop()
    }
  }

  package func curl(_ arguments: String..., within limit: Duration = .seconds(30)) async throws -> CurlAnswer {
    try await Curl.fetch(["--http2-prior-knowledge", "--unix-socket", socket] + arguments, within: limit)
  }

  package func stop() async { await ending.run() }
}
