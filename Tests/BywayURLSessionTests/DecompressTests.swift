import Byway
import BywayGateway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization
import TestPeers
import TestTools
import Testing

/// Bodies compressed by an origin; the bytes come from Node's zlib and Brotli.
@Suite(.timeLimit(.minutes(2))) struct DecompressTests {
  /// A coding and a body in it.
  struct Sample: CustomTestStringConvertible {
    let coding: String
    let bytes: ByteBuffer

    init(_ coding: String, _ text: String) {
      self.coding = coding
      bytes = ByteBuffer(bytes: Data(base64Encoded: text) ?? Data())
    }

    var testDescription: String { coding }

    /// The bytes, one by one.
    var body: Body {
      let (body, chunks) = streamedBody()
      for byte in bytes.readableBytesView { chunks.yield(ByteBuffer(bytes: [byte])) }
      chunks.finish()
      return Body(body, length: bytes.readableBytes)
    }
  }

  private static let text = String(repeating: "hello ", count: 100)
  private static let gzip = Sample("gzip", "H4sIAAAAAAAAA8tIzcnJV8gYJUdJqpIA8zGiDVgCAAA=")
  private static let brotli = Sample("br", "G1cC+I2Ubt5EVYaWbCBvUVscgEEc")
  private static let samples = [
    gzip, Sample("X-Gzip", "H4sIAAAAAAAAA8tIzcnJV8gYJUdJqpIA8zGiDVgCAAA="),
    Sample("deflate", "eJzLSM3JyVfIGCVHSaqSAO3S3FE="),
    // Without zlib's header, as some servers send it.
    Sample("deflate", "y0jNyclXyBglR0mqkgA="),
    brotli,
    Sample("br, gzip", "H4sIAAAAAAAAA5MOZ/rROyXvnkto27QchfzAaJkGRxkAhfm9WBUAAAA="),
    Sample("gzip, identity, br", "iw+AH4sIAAAAAAAAA8tIzcnJV8gYJUdJqpIA8zGiDVgCAAAD"),
  ]
  /// 32 MiB of zeros.
  private static let bomb = Sample(
    "br", "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0f////4J8AiMMCAN37v/z//8M/ARCHBQC6938=")

  /// Responds with a sample, and with the request's Accept-Encoding in `x-asked`.
  private static func origin(_ sample: Sample, status: HTTPResponse.Status = .ok) -> Rig.Handler {
    { request in
      var response = Response(
        status: status, fields: [.contentEncoding: sample.coding],
        body: request.head.method == .head || status == .notModified ? .empty : sample.body)
      if request.head.method == .head { response.head.headerFields[.contentLength] = "\(sample.bytes.readableBytes)" }
      if let name = HTTPField.Name("x-asked") {
        response.head.headerFields[name] = request.field("accept-encoding") ?? "nothing"
      }
      return response
    }
  }

  @Test("a compressed body is requested and decompressed", arguments: samples)
  func restored(_ sample: Sample) async throws {
    try await withRig(Self.origin(sample)) { rig in
      let (data, response) = try await rig.session().data(from: .device())
      #expect(data.text == Self.text)
      #expect(response.http?.allHeaderFields["X-Asked"] as? String == "gzip, deflate, br")
      // Foundation's own HTTP keeps the field as well.
      #expect(response.http?.value(forHTTPHeaderField: "Content-Encoding") == sample.coding)
      #expect(response.http?.value(forHTTPHeaderField: "Content-Length") == nil)
      #expect(response.expectedContentLength == -1)
    }
  }

  @Test("a download task's file has the decompressed body")
  func download() async throws {
    try await withRig(Self.origin(Self.gzip)) { rig in
      let (file, _) = try await rig.session().download(from: .device())
      #expect(try Data(contentsOf: file).text == Self.text)
      try FileManager.default.removeItem(at: file)
    }
  }

  @Test("an app that sets Accept-Encoding itself gets the origin's bytes")
  func ownWish() async throws {
    try await withRig(Self.origin(Self.gzip)) { rig in
      for wish in ["gzip", "identity"] {
        var request = URLRequest(url: .device())
        request.setValue(wish, forHTTPHeaderField: "Accept-Encoding")
        let (data, response) = try await rig.session().data(for: request)
        #expect(ByteBuffer(bytes: data) == Self.gzip.bytes)
        #expect(response.http?.allHeaderFields["X-Asked"] as? String == wish)
        #expect(response.expectedContentLength == Int64(Self.gzip.bytes.readableBytes))
      }
    }
  }

  @Test("a range request is not compressed or decompressed")
  func part() async throws {
    try await withRig(Self.origin(Self.gzip, status: .partialContent)) { rig in
      var request = URLRequest(url: .device())
      for range in [nil, "bytes=0-99"] {
        request.setValue(range, forHTTPHeaderField: "Range")
        let (data, response) = try await rig.session().data(for: request)
        #expect(ByteBuffer(bytes: data) == Self.gzip.bytes)
        let asked = response.http?.allHeaderFields["X-Asked"] as? String
        #expect(asked == (range == nil ? "gzip, deflate, br" : "nothing"))
      }
    }
  }

  @Test("a response without a body keeps its fields")
  func withoutBody() async throws {
    try await withRig(Self.origin(Self.gzip)) { rig in
      var request = URLRequest(url: .device())
      request.httpMethod = "HEAD"
      let (data, response) = try await rig.session().data(for: request)
      #expect(data.isEmpty && response.expectedContentLength == Int64(Self.gzip.bytes.readableBytes))
    }
    for status in [HTTPResponse.Status.noContent, .notModified, .ok] {
      try await withRig { _ in
        Response(status: status, fields: [.contentEncoding: "gzip"])
      } _: { rig in
        let (data, response) = try await rig.session().data(from: .device())
        #expect(data.isEmpty && response.http?.statusCode == status.code)
        #expect(response.http?.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
      }
    }
  }

  @Test(
    "a body in an unknown coding, in too many, or in none is returned unchanged",
    arguments: ["zstd", "gzip, zstd", "identity", "gzip, gzip, gzip, gzip, gzip, gzip"])
  func unknown(_ coding: String) async throws {
    try await withRig { _ in
      Response(status: .ok, fields: [.contentEncoding: coding], body: Body("as it is"))
    } _: { rig in
      let (data, response) = try await rig.session().data(from: .device())
      #expect(data.text == "as it is")
      #expect(response.expectedContentLength == 8)
    }
  }

  @Test("a damaged, truncated or extended compressed body is an error", arguments: [gzip, brotli])
  func damaged(_ sample: Sample) async throws {
    var damaged = sample.bytes
    damaged.setBytes([0xFF, 0xFF, 0xFF], at: 11)
    let cut = sample.bytes.getSlice(at: 0, length: sample.bytes.readableBytes - 1) ?? ByteBuffer()
    var long = sample.bytes
    long.writeString("more")
    for (bytes, reason) in [(damaged, "was damaged"), (cut, "ended too early"), (long, "goes on after its end")] {
      try await withRig { _ in
        Response(status: .ok, fields: [.contentEncoding: sample.coding], body: Body(bytes))
      } _: { rig in
        let error = await #expect(throws: URLError.self) { try await rig.session().data(from: .device()) }
        #expect(error?.code == .cannotDecodeContentData)
        #expect(
          error?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
            == "The response's body, compressed by the origin, \(reason).")
        #expect(error?.failingURL == .device())
      }
    }
  }

  @Test("a link lost within a compressed body is reported as such, and not as a damaged body")
  func lost() async throws {
    try await withRig { _ in
      let (body, chunks) = streamedBody()
      chunks.yield(Self.gzip.bytes.getSlice(at: 0, length: 20) ?? ByteBuffer())
      chunks.finish(throwing: CancellationError())
      return Response(status: .ok, fields: [.contentEncoding: "gzip"], body: body)
    } _: { rig in
      let error = await #expect(throws: URLError.self) { try await rig.session().data(from: .device()) }
      #expect(error != nil && error?.code != .cannotDecodeContentData)
    }
  }

  @Test(
    "each event of a compressed stream is received when it is sent",
    arguments: [
      ("gzip", ["H4sIAAAAAAAAA8rPSwUAAAD//w==", "KinPBwAAAP//", "KskoSk0FAAAA//8=", "AwCSwOEJCwAAAA=="]),
      ("br", ["CwGAb25l", "EAAIdHdv", "IACAXwIgBolKGA==", "Aw=="]),
    ])
  func events(_ coding: String, _ pieces: [String]) async throws {
    let (body, chunks) = streamedBody()
    try await withRig { _ in
      Response(status: .ok, fields: [.contentEncoding: coding], body: body)
    } _: { rig in
      let observer = TaskObserver()
      rig.session(delegate: observer).dataTask(with: .device()).resume()
      for (piece, text) in zip(pieces, ["one", "onetwo", "onetwothree", "onetwothree"]) {
        chunks.yield(Sample(coding, piece).bytes)
        try await until { observer.data.text == text }
      }
      #expect(!observer.isComplete)
      chunks.finish()
      try await until { observer.isComplete }
      #expect(observer.error == nil)
    }
  }

  @Test("a highly compressed body is decompressed in small pieces, as fast as it is read")
  func bomb() async throws {
    let bomb = try await Program.run(
      try Program.python.path(),
      ["-c", "import gzip, base64; print(base64.b64encode(gzip.compress(bytes(32 << 20))).decode())"],
      within: .seconds(60)
    ).text
    for sample in [Self.bomb, Sample("gzip", String(bomb.dropLast()))] {
      try await withRig(collectionLimit: 1 << 20) { _ in
        Response(status: .ok, fields: [.contentEncoding: sample.coding], body: Body(sample.bytes))
      } _: { rig in
        let observer = TaskObserver()
        let most = Most()
        observer.onData = { _, data in most.note(data.count) }
        try await rig.dataTask(for: observer)
        #expect(observer.error == nil && observer.data.count == 32 << 20)
        #expect(most.value <= 256 << 10)
        // The limit counts decompressed bytes.
        let error = await #expect(throws: URLError.self) { try await rig.session().data(from: .device()) }
        #expect(error?.code == .dataLengthExceedsMaximum)
      }
    }
  }

  @Test("a body that nginx compresses for curl is compressed for the bridge too, which decompresses it")
  func nginx() async throws {
    let folder = try TemporaryFolder()
    _ = try folder.write(Self.text, to: "text.txt")
    let nginx = try await NginxServer(
      in: folder, locations: "location = /text.txt { gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any; }")
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [link], origin: try Origin("http://\(nginx.endpoint)")))
    let client = BywayClient(link)
    let session = URLSession(configuration: .byway(try Bridge([Route(Rig.scope, over: client)])))
    let (data, response) = try await session.data(from: .device("/text.txt"))
    #expect(data.text == Self.text)
    #expect(response.http?.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
    await client.shutDown()
    await gateway.stop(within: .zero)
    await nginx.stop()
  }
}

/// The maximum of some numbers.
private final class Most: Sendable {
  private let most = Mutex(0)

  var value: Int { most.withLock { $0 } }

  func note(_ number: Int) {
    most.withLock { $0 = max($0, number) }
  }
}
