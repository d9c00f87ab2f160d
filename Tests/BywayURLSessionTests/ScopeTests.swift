import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import LoopbackTransport
import NIOCore
import NIOPosix
import Synchronization
import TestPeers
import TestTools
import Testing

@Suite(.timeLimit(.minutes(2))) struct ScopeTests {
  @Test("requests out of scope behave as without Byway")
  func outside() async throws {
    let folder = try TemporaryFolder()
    let nginx = try await NginxServer(in: folder, locations: "location = /moved { return 302 /hello; }")
    let url = try #require(URL(string: "http://\(nginx.endpoint)"))
    try await withRig { _ in
      Response(status: .init(code: 418))
    } _: { rig in
      for session in [rig.session(), URLSession(configuration: .ephemeral)] {
        let (data, response) = try await session.data(from: url.appendingPathComponent("hello"))
        #expect(data.text == "hello, byway\n")
        #expect(response.http?.statusCode == 200)
        #expect(response.http?.value(forHTTPHeaderField: "Server")?.hasPrefix("nginx") == true)
        let (moved, final) = try await session.data(from: url.appendingPathComponent("moved"))
        #expect(moved.text == "hello, byway\n")
        #expect(final.url?.path == "/hello")
        let (_, missing) = try await session.data(from: url.appendingPathComponent("missing"))
        #expect(missing.http?.statusCode == 404)
      }
      // The same session reaches the device.
      let (_, teapot) = try await rig.session().data(from: .device())
      #expect(teapot.http?.statusCode == 418)
    }
    await nginx.stop()
  }

  @Test("the first matching route of a bridge is used, and the bridge added last takes precedence")
  func order() async throws {
    try await withRig { _ in
      Response(status: .ok, body: Body("one"))
    } _: { one in
      try await withRig { _ in
        Response(status: .ok, body: Body("two"))
      } _: { two in
        let bridge = try Bridge([
          Route(Scope(hosts: ["device"], paths: ["/two"]), over: two.client),
          Route(Scope(hosts: ["device"]), over: one.client),
        ])
        let session = URLSession(configuration: .byway(bridge))
        #expect(try await session.data(from: .device("/two/x")).0.text == "two")
        #expect(try await session.data(from: .device("/twofold")).0.text == "one")

        let both = one.session { $0.use(two.bridge) }
        #expect(try await both.data(from: .device()).0.text == "two")
        // Each session has its own bridge.
        #expect(try await one.session().data(from: .device()).0.text == "one")
      }
    }
  }

  @Test("a scope matches host, port, path, method and scheme of the URL as written")
  func matching() throws {
    func takes(_ scope: Scope, _ url: String, _ method: String = "GET") throws -> Bool {
      let client = try BywayClient(link: "loopback:nobody", transports: [LoopbackTransport()])
      let bridge = try Bridge([Route(scope, over: client)])
      var request = URLRequest(url: try #require(URL(string: url)))
      request.httpMethod = method
      return bridge.protocolClass.canInit(with: request)
    }
    let device = Scope(hosts: ["device", "*.local"])
    #expect(try takes(device, "http://DEVICE:8080/x"))
    #expect(try takes(device, "http://user:pw@a.local?x"))
    #expect(try takes(device, "https://a.local#x"))
    #expect(try !takes(device, "http://device.example/device"))
    #expect(try !takes(device, "mailto:somebody@device"))
    #expect(try takes(Scope(schemes: ["device"]), "DEVICE:/status"))
    #expect(try takes(Scope(paths: ["/api"]), "http://any/api?x#y"))
    #expect(try !takes(Scope(paths: ["/api"]), "http://any/apiary"))
    #expect(try takes(Scope(methods: [.post]), "http://any/", "POST"))
    #expect(try !takes(Scope(methods: [.post]), "http://any/"))
  }

  @Test("a task can be cancelled while its interceptor waits for another task of the same session")
  func cancelledInside() async throws {
    /// An interceptor that sends a request without a response.
    struct Asking: Interceptor {
      let seen: Seen

      func intercept(_ request: Request, next: Next) async throws -> Response {
        guard let session = seen.session, let url = seen.url else { return try await next(request) }
        seen.session = nil
        do { _ = try await session.data(from: url) } catch { seen.error = error }
        return try await next(request)
      }
    }
    let silent = try await SilentServer()
    let seen = Seen()
    seen.url = URL(string: "http://127.0.0.1:\(silent.port)/")
    try await withRig(interceptors: [Asking(seen: seen)]) { _ in
      Response(status: .ok)
    } _: { rig in
      for _ in 0..<20 {
        let session = rig.session()
        (seen.session, seen.error) = (session, nil)
        let requests = silent.requests
        let task = session.dataTask(with: .device())
        task.resume()
        try await until { silent.requests > requests }
        task.cancel()
        try await until { (seen.error as? URLError)?.code == .cancelled && task.state == .completed }
      }
    }
    await silent.stop()
  }

  @Test("an interceptor's own URLSession requests are not routed back into the bridge")
  func recursion() async throws {
    /// An interceptor that requests the URL it was called for.
    struct Asking: Interceptor {
      let outcome: @Sendable (any Error) -> Void
      let session: @Sendable () -> URLSession?
      let url: URL

      func intercept(_ request: Request, next: Next) async throws -> Response {
        do { _ = try await session()?.data(from: url) } catch { outcome(error) }
        return try await next(request)
      }
    }
    let seen = Seen()
    // A port without a listener.
    let url = try #require(URL(string: "http://127.0.0.1:\(Endpoint.freePort())/"))
    let asking = Asking(outcome: { seen.error = $0 }, session: { seen.session }, url: url)
    try await withRig(interceptors: [asking]) { _ in
      Response(status: .ok, body: Body("once"))
    } _: { rig in
      let bridge = try Bridge([Route(Scope(hosts: ["127.0.0.1"]), over: rig.client)])
      seen.session = rig.session { $0.use(bridge) }
      let data = try await seen.session?.data(from: url).0
      #expect(data?.text == "once")
      // The request takes the normal route.
      #expect((seen.error as? URLError)?.code == .cannotConnectToHost)
      seen.session = nil
    }
  }
}

/// A server that accepts connections and sends nothing.
private final class SilentServer: Sendable {
  private final class Count: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    let requests = Atomic(0)
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { requests.add(1, ordering: .relaxed) }
  }

  private let count = Count()
  private let channel: any Channel

  init() async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [count] channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(count) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  var port: Int { channel.localAddress?.port ?? 0 }
  /// The number of requests received.
  var requests: Int { count.requests.load(ordering: .relaxed) }
  func stop() async { try? await channel.close() }
}

/// Values that a test and an interceptor share.
private final class Seen: @unchecked Sendable {
  private let lock = NSLock()
  private var values: (session: URLSession?, error: (any Error)?, url: URL?)
  var url: URL? {
    get { lock.withLock { values.url } }
    set { lock.withLock { values.url = newValue } }
  }
  var session: URLSession? {
    get { lock.withLock { values.session } }
    set { lock.withLock { values.session = newValue } }
  }
  var error: (any Error)? {
    get { lock.withLock { values.error } }
    set { lock.withLock { values.error = newValue } }
  }
}
