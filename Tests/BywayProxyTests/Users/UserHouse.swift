import Byway
import BywayDevices
import BywayGateway
import BywayPrimitives
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import Synchronization
import TCPTransport
import TestTools
import TestWire
import Testing
import UnixTransport

@testable import BywayProxy

/// A printer and a camera behind a proxy with users, in one process. alice and bob have the password "secret".
struct UserHouse: ServedProxy {
  static let rights = "alice = printer\nbob = camera\ncarol = * @default\n* = lobby"

  let proxy: Proxy
  let gateways: [Gateway]
  let configuration: ProxyConfiguration
  let audit = CollectedAudit()
  private let folder: TemporaryFolder
  private let ending: Ending

  /// - Parameters:
  ///   - header: the field of a reverse proxy; the proxy then listens on a Unix socket.
  ///   - hasMain: whether the printer is also the default device.
  init(
    header: String? = nil, passwords: Bool = true, hasMain: Bool = false, interceptors: [any Interceptor] = []
  ) async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let remains = Remains()
    let transports = TransportRegistry([LoopbackTransport(), TCPTransport(), UnixTransport()])
    let street = "users-\(UInt64.random(in: 0 ... .max))"
    folder = try TemporaryFolder()
    var gateways: [Gateway] = []
    var devices: [Device] = []
    for name in ["printer", "camera", "lobby"] {
      let link = try transports.link("loopback:\(street)-\(name)")
      var configuration = GatewayConfiguration(
        links: [link], origin: .handler { try await Self.respond(to: $0, as: name) })
      configuration.logger = quiet
      gateways.append(try await Gateway.start(configuration, group: remains.loops.any()))
      devices.append(try Device(#require(DeviceName(name)), links: [link]))
    }
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory(
        devices, main: hasMain ? devices[0].links : [], suffixes: ["devices.example"]),
      listen: try transports.link(header == nil ? "tcp://127.0.0.1:0" : "unix:\(folder["p"])"))
    configuration.logger = quiet
    configuration.patience = .zero
    configuration.interceptors = interceptors
    configuration.users = try Self.rules(rights: Self.rights, passwords: passwords, header: header)
    configuration.audit = audit
    configuration.observers = [remains.ledger]
    self.configuration = configuration
    let proxy = try await Proxy.start(configuration, group: remains.loops)
    (self.proxy, self.gateways) = (proxy, gateways)
    ending = Ending(of: proxy, gateways, remains)
  }

  static func rules(rights: String, passwords: Bool = true, header: String? = nil) throws -> UserRules {
    let file = ["alice", "bob", "carol"].map { "\($0):\(PasswordFileTests.bcrypt)" }.joined(separator: "\n")
    return UserRules(
      try Rights(rights, named: "rights"), passwords: passwords ? try PasswordFile(file, named: "users") : nil,
      header: try header.map { try UserHeader($0) })
  }

  /// Responds with a description of the request; `/held` does not end.
  private static func respond(to request: Request, as name: String) async throws -> Response {
    let body = try await request.body.collect(upTo: 1 << 20)
    let trailers = await request.body.trailers().map { $0.map { "trailer \($0.name.rawName): \($0.value)" } } ?? []
    let fields = request.head.headerFields.map { "\($0.name.rawName): \($0.value)" } + trailers
    if request.head.path == "/held" {
      let (chunks, more) = AsyncStream<ByteBuffer>.makeStream()
      more.yield(ByteBuffer(string: "begun\n"))
      return Response(status: .ok, body: Body(HeldChunks(chunks: chunks, more: more)))
    }
    var response = Response(
      status: .ok,
      body: Body(
        "this is the \(name), asked for \(request.head.path ?? "-") with \(body.readableBytes) bytes\n\(fields.joined(separator: "\n"))\n"
      ))
    if request.head.path == "/kept" { response.head.headerFields[.cacheControl] = "public, max-age=60" }
    return response
  }

  /// A body that continues as long as it is read.
  private struct HeldChunks: AsyncSequence, Sendable {
    let chunks: AsyncStream<ByteBuffer>
    let more: AsyncStream<ByteBuffer>.Continuation

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: chunks.makeAsyncIterator(), more: more) }

    struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: AsyncStream<ByteBuffer>.Iterator
      let more: AsyncStream<ByteBuffer>.Continuation

      mutating func next() async throws -> ByteBuffer? { await iterator.next() }
    }
  }

  static func basic(_ user: String, _ password: String = "secret") -> String {
    "Basic " + Base64.encode("\(user):\(password)".utf8)
  }

  /// Sends a GET to a device as a user.
  func get(_ path: String = "/", of device: String, as user: String, _ password: String = "secret") async throws
    -> String
  {
    try await exchange(
      "GET \(path) HTTP/1.1\r\nHost: \(device).localhost\r\nAuthorization: \(Self.basic(user, password))")
  }

  func reload(_ rules: UserRules?) async throws {
    var next = configuration
    next.users = rules
    next.audit = audit
    try await proxy.reload(next, within: .seconds(1))
  }

  func stop() async { await ending.run() }
}

/// A record of audit events.
final class CollectedAudit: AuditLog {
  private let told = Mutex<[AuditEvent]>([])

  var events: [AuditEvent] { told.withLock(\.self) }

  func record(_ event: AuditEvent) {
    told.withLock { $0.append(event) }
  }
}
