import Byway
import BywayTesting
import Foundation
import LoopbackTransport
import MQTTTransport
import ProcessTransport
import SSHTransport
import TCPTransport
import TestPeers
import TestTools
import Testing
import TransportTestSupport
import UnixTransport
import WebSocketTransport

/// A transport with everything that the kit needs to test it.
struct TransportSubject: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let withKit: @Sendable (_ body: (TransportCompatibility) async throws -> Void) async throws -> Void

  static let all = [unix, tcp, tls, ws, wss, mqtt, mqtts, loopback, line, exec, stdio, sshPort, sshSocket, sshCommand]

  static let unix = TransportSubject(testDescription: "unix") { body in
    try await withTemporaryFolder { folder in
      var kit = TransportCompatibility(
        UnixTransport(), farEnd: .listener { try LinkAddress("unix:\(folder)/socket?mode=0600") })
      kit.refusing = try LinkAddress("unix:\(folder)/nobody")
      kit.bulkByteCount = 1 << 30
      try await body(kit)
    }
  }

  static let tcp = network("tcp", TCPTransport())
  static let tls = network("tls", TLSTransport(), isSecure: true)
  static let ws = network("ws", WebSocketTransport(over: TCPTransport()), "/byway")
  static let wss = network("wss", WebSocketTransport(over: TLSTransport()), "/byway", isSecure: true)

  /// A transport over TCP on loopback.
  private static func network(
    _ scheme: String, _ transport: any Transport, _ path: String = "", isSecure: Bool = false
  ) -> TransportSubject {
    TransportSubject(testDescription: scheme) { body in
      let certificates = isSecure ? try await Certificates() : nil
      let own = certificates.map { "?ca=\($0.authority)&\($0.server.options)" } ?? ""
      var kit = TransportCompatibility(
        transport, farEnd: .listener { try LinkAddress("\(scheme)://127.0.0.1:0\(path)\(own)") })
      try await kit.withDeadPorts(scheme, path, certificates, body)
    }
  }

  static let mqtt = broker("mqtt", MQTTTransport())
  static let mqtts = broker("mqtts", MQTTTransport(isSecure: true), isSecure: true)

  private static func broker(_ scheme: String, _ transport: MQTTTransport, isSecure: Bool = false) -> TransportSubject {
    TransportSubject(testDescription: scheme) { body in
      let certificates = isSecure ? try await Certificates() : nil
      let broker = try await MosquittoServer(in: TemporaryFolder(), certificates: certificates)
      let port = isSecure ? broker.securePort ?? 0 : broker.port
      let keys = certificates.map { "?ca=\($0.authority)&\($0.client.options)" } ?? ""
      var kit = TransportCompatibility(
        transport,
        // A new topic for each check, so that a session meant for one listener does not reach its successor.
        farEnd: .listener {
          try LinkAddress("\(scheme)://127.0.0.1:\(port)/kit/\(UInt32.random(in: 0 ... .max))\(keys)")
        })
      kit.bulkByteCount = 1 << 23
      kit.linksAtOnce = 16
      kit.stepLimit = .seconds(30)
      try await kit.withDeadPorts(scheme, "/kit", certificates, body)
      await broker.stop()
    }
  }

  static let loopback = TransportSubject(testDescription: "loopback") { body in
    var kit = TransportCompatibility(
      LoopbackTransport(names: LoopbackNames()), farEnd: .listener { try LinkAddress("loopback:matrix") })
    kit.refusing = try LinkAddress("loopback:nobody")
    try await body(kit)
  }

  /// The line layer over a socket that leads to a line.
  static let line = TransportSubject(testDescription: "a line behind unix") { body in
    try await withTemporaryFolder { folder in
      // A connection that waits in a queue without a consumer never gets an answer.
      let mute = try await UnixTransport().listen(on: LinkAddress("unix:\(folder)/mute"), context: .test())
      let link = try TransportRegistry([UnixTransport()]).link("unix:\(folder)/socket?line=100000000")
      var kit = TransportCompatibility(
        link.transport,
        // A new address for each check, so that a connection meant for one listener does not reach its successor.
        farEnd: .listener { try LinkAddress("unix:\(folder)/\(UInt32.random(in: 0 ... .max))?line=100000000") })
      kit.refusing = try LinkAddress("unix:\(folder)/nobody?line=100000000")
      kit.silent = try LinkAddress("unix:\(folder)/mute?line=100000000")
      kit.linksAtOnce = 1
      kit.bulkByteCount = 1 << 23
      try await body(kit)
      await mute.close()
    }
  }

  static let exec = TransportSubject(testDescription: "exec") { body in
    var kit = TransportCompatibility(ExecTransport(), farEnd: .echo(try LinkAddress("exec:cat")))
    kit.refusing = try LinkAddress("exec:/no/such/program")
    kit.dying = try LinkAddress("exec:sh -c 'head -c 1 >/dev/null; kill -9 $$'")
    try await body(kit)
  }

  /// The transport starts the child process at the far end; exec: only connects to it.
  static let stdio = TransportSubject(testDescription: "stdio") { body in
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/StdioEcho"
    var kit = TransportCompatibility(ExecTransport(), farEnd: .echo(try LinkAddress("exec:'\(program)'")))
    try await body(kit)
  }

  /// A port of the remote host in both directions: this process listens there, and dials it from there.
  static let sshPort = TransportSubject(testDescription: "ssh to a port") { body in
    let server = try await SSHServer(in: TemporaryFolder())
    let (port, unused) = try (Endpoint.freePort(), UnusedPort())
    var kit = TransportCompatibility(
      SSHTransport(), farEnd: .listener { try LinkAddress("\(server.base)?listen=\(port)&\(server.login)") })
    kit.dialOptions = "tcp=127.0.0.1:\(port)&\(server.login)"
    kit.refusing = try LinkAddress("\(server.base)?tcp=127.0.0.1:\(unused.port)&\(server.login)")
    kit.bulkByteCount = 1 << 26
    try await body(kit)
    await server.stop()
    withExtendedLifetime(unused) {}
  }

  static let sshSocket = TransportSubject(testDescription: "ssh to a socket") { body in
    let server = try await SSHServer(in: TemporaryFolder())
    let silent = try SilentPort()
    let echo = try await UnixTransport().listen(on: LinkAddress("unix:\(server.folder["echo"])"), context: .test())
    let serving = Task {
      for try await channel in echo.channels {
        channel.eventLoop.execute { try? channel.pipeline.syncOperations.addHandler(EchoHandler()) }
      }
    }
    var kit = TransportCompatibility(
      SSHTransport(), farEnd: .echo(try LinkAddress("\(server.base)\(server.folder["echo"])?\(server.login)")))
    kit.refusing = try LinkAddress("\(server.base)\(server.folder["nobody"])?\(server.login)")
    kit.silent = try LinkAddress("ssh://127.0.0.1:\(silent.port)/x?\(server.login)")
    kit.bulkByteCount = 1 << 26
    try await body(kit)
    serving.cancel()
    await echo.close()
    await server.stop()
    withExtendedLifetime(silent) {}
  }

  static let sshCommand = TransportSubject(testDescription: "ssh to a command") { body in
    let server = try await SSHServer(in: TemporaryFolder(), "MaxSessions 50")
    var kit = TransportCompatibility(
      SSHTransport(), farEnd: .echo(try LinkAddress("\(server.base)?command=cat&\(server.login)")))
    // The server starts a shell for each link.
    kit.linksAtOnce = 16
    kit.stepLimit = .seconds(30)
    kit.dying = try LinkAddress("\(server.base)?command=head -c 1 >/dev/null; kill -9 $$&\(server.login)")
    kit.bulkByteCount = 1 << 26
    try await body(kit)
    await server.stop()
  }
}

extension TransportCompatibility {
  /// Runs the kit with two ports of loopback to dial: one refuses connections, one is silent.
  fileprivate mutating func withDeadPorts(
    _ scheme: String, _ path: String, _ certificates: Certificates?,
    _ body: (TransportCompatibility) async throws -> Void
  ) async throws {
    let silent = try SilentPort()
    let unused = try UnusedPort()
    let keys = certificates.map { "ca=\($0.authority)&\($0.client.options)" }
    if let keys { dialOptions = keys }
    let more = path + (keys.map { "?\($0)" } ?? "")
    refusing = try LinkAddress("\(scheme)://127.0.0.1:\(unused.port)\(more)")
    self.silent = try LinkAddress("\(scheme)://127.0.0.1:\(silent.port)\(more)")
    try await body(self)
    withExtendedLifetime((silent, unused, certificates)) {}
  }
}
