import Byway
import BywayGateway
import BywayInterceptors
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization

/// A row of the table: the interceptors at both ends of the link, and the direction of the bytes.
struct MemoryCase {
  /// The interceptors of the client, for one request after the other.
  private var near: [() throws -> [any Interceptor]] = [{ [] }]
  private var far: [any Interceptor] = []
  private var isUpload = false
  /// The number of requests that reach the origin.
  private var asked = 1

  static let names = [
    "no interceptor", "Canonicalize, Redirect, Retry", "Authenticate", "Authenticate, up", "Trace, to a HAR file",
    "Trace, to a HAR file, up", "Transform", "Compress", "Compress, up", "Cache, too long for it",
    "Cache on disk, stored and then a hit", "Recorder, then Replay", "LocalFiles", "Stub, a file",
  ]

  /// Returns `nil` if there is no row of that name.
  init?(_ name: String, folder: String) throws {
    isUpload = name.hasSuffix(", up")
    switch name {
    case "no interceptor": break
    case "Canonicalize, Redirect, Retry": near = [{ [Canonicalize(), Redirect(), Retry()] }]
    case "Authenticate", "Authenticate, up":
      near = [{ [Authenticate(hosts: ["device"], user: "u", password: "p")] }]
    case "Trace, to a HAR file", "Trace, to a HAR file, up":
      near = [{ [Trace(bodyLimit: 64 << 10, to: try HARFile(folder + "/trace.har"))] }]
    case "Transform": far = [Transform { _ in Replacement(of: "sensor", with: "meters") }]
    case "Compress", "Compress, up": (near, far) = ([{ [Compress(at: .client)] }], [Compress(at: .gateway)])
    case "Cache, too long for it": near = [{ [Cache()] }]
    case "Cache on disk, stored and then a hit":
      var configuration = Cache.Configuration.defaults
      (configuration.limit, configuration.bodyLimit) = (4 << 30, 2 << 30)
      let cache = try Cache(folder: folder + "/cache", configuration: configuration)
      near = [{ [cache] }, { [cache] }]
    case "Recorder, then Replay":
      let recorded = folder + "/recorded"
      near = [{ [try Recorder(into: recorded)] }, { [try Replay(from: recorded)] }]
    case "LocalFiles", "Stub, a file":
      try LongBody.writeHoles(to: folder + "/body")
      far = [name == "LocalFiles" ? LocalFiles(folder) : Stub(answer: .file(folder + "/body"))]
      asked = 0
    default: return nil
    }
  }

  /// Returns whether all bytes arrived, from the expected source.
  func run() async throws -> Bool {
    let count = Atomic(0)
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:memory")
    var configuration = GatewayConfiguration(
      links: [link],
      origin: .handler { request in
        if request.head.path == "/none" { return Response(status: .ok, body: Body("none")) }
        count.add(1, ordering: .relaxed)
        var length = 0
        for try await chunk in request.body { length += chunk.readableBytes }
        if request.head.method == .post { return Response(status: .ok, body: Body("\(length)")) }
        return Response(
          status: .ok, fields: [.contentType: "text/plain", .cacheControl: "max-age=600"],
          body: Body(LongBody(), length: LongBody.length))
      })
    configuration.interceptors = far
    let gateway = try await Gateway.start(configuration)
    var isWhole = true
    for interceptors in near {
      var configuration = BywayClient.Configuration.defaults
      configuration.interceptors = try interceptors()
      let client = BywayClient(link, configuration: configuration)
      if try await transfer(client) != LongBody.length { isWhole = false }
      await client.shutDown()
    }
    await gateway.stop(within: .seconds(1))
    return isWhole && count.load(ordering: .relaxed) == asked
  }

  /// - Returns: the number of bytes that arrived at the other end.
  private func transfer(_ client: BywayClient) async throws -> Int {
    guard isUpload else {
      var length = 0
      for try await chunk in try await client.get("http://device/body").body { length += chunk.readableBytes }
      return length
    }
    // The first response tells the client that the gateway decompresses.
    _ = try await client.get("http://device/none").body.collect(upTo: 100)
    var request = try Request(
      .post, url: "http://device/body", body: Body(LongBody(), length: LongBody.length), timeout: .seconds(30 * 60))
    request.head.headerFields = [.contentType: "text/plain"]
    return Int(String(buffer: try await client.execute(request).body.collect(upTo: 100))) ?? 0
  }
}
