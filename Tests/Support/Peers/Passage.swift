package import TestTools

/// The kinds of link that this machine can offer without hardware.
package enum LinkKind: String, CaseIterable, Sendable {
  case unix
  case tcp
  /// The gateway is a child of the proxy, and its standard input and output are the link.
  case exec
  /// Through a login at an SSH server of this machine: to the gateway's socket, or its port.
  case sshSocket, sshPort
  /// The SSH server starts the gateway, whose standard input and output are the link.
  case sshCommand

  /// A gibibyte over one kind of link shows what grows with a body; over the others there is the same code but the transport's.
  package var bulk: MarkedFile.Bulk { self == .unix ? .gibibyte : .eighth }
}

/// Origin, gateway, link and proxy, all running: what a user has in front of them.
package final class Passage: Sendable {
  package let folder: TemporaryFolder
  package let origin: OriginServer
  /// `nil` where the proxy starts it by itself, or has it started.
  package let gateway: BywayProcess?
  package let ssh: SSHServer?
  package let proxy: BywayProcess
  /// The link's address, as the client's end writes it.
  package let link: String
  /// Where the proxy listens.
  package let endpoint: Endpoint

  /// - Parameters:
  ///   - origin: what the gateway forwards to; where absent, the passage's own ``OriginServer``.
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

  /// The proxy's, without a slash at the end.
  package var url: String { "http://\(endpoint)" }

  /// What the proxy answers to as a host.
  package var host: String { "\(endpoint)" }

  package func stop() async {
    await proxy.process.stop()
    await gateway?.process.stop()
    await ssh?.stop()
    await origin.stop()
  }
}

/// An origin of our own and a gateway before it, for clients that speak HTTP/2 themselves.
package final class BareGateway: Sendable {
  package let folder: TemporaryFolder
  package let origin: OriginServer
  package let gateway: BywayProcess
  /// The Unix socket.
  package let socket: String

  package init(_ options: [String] = [], to other: String? = nil, dropAfter: Int = 0) async throws {
    folder = try TemporaryFolder()
    socket = folder["l"]
    origin = try await OriginServer(on: .unix(folder["o"]), dropAfter: dropAfter)
    gateway = try await .gateway(["--link", "unix:\(socket)", "--origin", other ?? "\(origin.endpoint)"] + options)
  }

  package func curl(_ arguments: String..., within limit: Duration = .seconds(30)) async throws -> CurlAnswer {
    try await Curl.fetch(["--http2-prior-knowledge", "--unix-socket", socket] + arguments, within: limit)
  }

  package func stop() async {
    await gateway.process.stop()
    await origin.stop()
  }
}
