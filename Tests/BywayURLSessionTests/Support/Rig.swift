import Byway
import BywayGateway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization

/// A gateway with a Swift handler, a client, and a bridge that takes `http://device/…` and `device://…` to it: all in this
/// process, over a loopback link.
struct Rig {
  typealias Handler = @Sendable (Request) async throws -> Response

  let client: BywayClient
  let bridge: Bridge
  private let gateway: Gateway

  static let scope = Scope(hosts: ["device", "*.device"])

  init(
    interceptors: [any Interceptor] = [], collectionLimit: Int = 1 << 30, _ handler: @escaping Handler
  ) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: .handler(handler)))
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = interceptors
    client = BywayClient(link, configuration: configuration)
    bridge = try Bridge(
      [Route(Self.scope, over: client), Route(Scope(schemes: ["device"]), over: client)],
      collectionLimit: collectionLimit)
  }

  func session(
    delegate: (any URLSessionDelegate)? = nil, queue: OperationQueue? = nil,
    _ configure: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.use(bridge)
    configure(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
  }

  /// Runs a task to its end.
  func dataTask(_ path: String = "/", for observer: TaskObserver) async throws {
    session(delegate: observer).dataTask(with: .device(path)).resume()
    try await until { observer.isComplete }
  }

  func downloadTask(_ path: String = "/", for observer: DownloadObserver) async throws {
    session(delegate: observer).downloadTask(with: .device(path)).resume()
    try await until { observer.isComplete }
  }

  func stop() async {
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }
}

/// A rig for as long as a test needs it.
func withRig(
  interceptors: [any Interceptor] = [], collectionLimit: Int = 1 << 30, _ handler: @escaping Rig.Handler,
  _ body: (Rig) async throws -> Void
) async throws {
  let rig = try await Rig(interceptors: interceptors, collectionLimit: collectionLimit, handler)
  do { try await body(rig) } catch {
    await rig.stop()
    throw error
  }
  await rig.stop()
}

/// A rig whose device answers every request with a body.
func withRig(
  answering body: @autoclosure @escaping @Sendable () -> Body, _ test: (Rig) async throws -> Void
) async throws {
  try await withRig({ _ in Response(status: .ok, body: body()) }, test)
}

extension URL {
  static func device(_ path: String = "/") -> URL { URL(string: "http://device\(path)") ?? URL(fileURLWithPath: path) }
}

extension Data {
  var text: String { String(decoding: self, as: UTF8.self) }
}

extension URLResponse {
  var http: HTTPURLResponse? { self as? HTTPURLResponse }
}

extension Request {
  var path: String { head.path ?? "" }
  func field(_ name: String) -> String? { HTTPField.Name(name).flatMap { head.headerFields[$0] } }
}

/// A body of chunks that a test sends one by one.
func streamedBody() -> (Body, AsyncThrowingStream<ByteBuffer, any Error>.Continuation) {
  let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
  return (Body(stream), continuation)
}
