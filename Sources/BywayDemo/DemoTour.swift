import Byway
import BywayPrimitives
import BywayTerminal
import Crypto
import HTTPTypes
import NIOCore

/// An automatic tour of the demo, which shows and checks each feature. Every step goes through proxy, line and gateway.
struct DemoTour: Sendable {
  private struct Step: Sendable {
    let title: String
    /// Returns what the step reports.
    let run: @Sendable () async throws -> String
  }

  struct UnexpectedResult: Error {
    let message: String
  }

  /// The time limit of a step.
  private static let patience = Duration.seconds(60)

  let stage: DemoStage
  private let style: TextStyle
  /// A client that speaks HTTP/1.1 to the proxy, as curl does.
  private let client: BywayClient

  init(stage: DemoStage, transports: TransportRegistry, style: TextStyle) throws {
    self.stage = stage
    self.style = style
    let proxy = stage.proxyAddress
    client = BywayClient(try transports.link(proxy.text + (proxy.options.isEmpty ? "?" : "&") + "http=1.1"))
  }

  /// - Throws: ``CommandFailure`` if a step failed.
  func run() async throws {
    print(
      "proxy \(style.accent(stage.url)) ─► serial line, \(DemoLine.baud) baud, seed \(stage.line.seed) ─► gateway ─► "
        + "a Swift function")
    var failures = 0
    for step in steps {
      do {
        let timedOut = BywayError(.timedOut, "It did not end in time.")
        let found = try await withTimeLimit(Self.patience, throwing: timedOut, step.run)
        print("  \(style.good("ok"))  \(step.title.padded(40)) \(found)")
      } catch {
        failures += 1
        let reason = (error as? UnexpectedResult)?.message ?? BywayError(error).message
        print("  \(style.bad("no"))  \(step.title.padded(40)) \(reason.visible)")
      }
    }
    await client.shutDown()
    guard failures == 0 else { throw CommandFailure(.software, "\(failures) of \(steps.count) steps failed.") }
  }

  private var steps: [Step] {
    [
      Step(title: "a round trip over the line", run: ping),
      Step(title: "GET /status", run: get),
      Step(title: "GET /events, while they happen", run: events),
      Step(title: "PUT /upload, 16 KiB, checked by SHA-256", run: upload),
      Step(title: "GET /big, 48 KiB, and /status meanwhile", run: overtake),
      Step(title: "50 slow requests at once", run: together),
      Step(title: "20 uploads, and the cable is pulled", run: cable),
      Step(title: "a web page of another host", run: rebinding),
      Step(title: "what the line did to all that", run: damage),
    ]
  }

  // MARK: Steps

  private func ping() async throws -> String {
    _ = try await stage.ping()
    return milliseconds(try await stage.ping())
  }

  private func get() async throws -> String {
    let start = NIODeadline.now()
    let response = try await send("/status")
    let text = String(buffer: try await response.body.collect(upTo: 4096))
    try expect(response.status == .ok && text.contains("byway demo"), "\(response.status.code), \(text)")
    return "\(response.status.code) in \(milliseconds(.now() - start))"
  }

  /// Checks that an event arrives before the next one is sent: nothing on the way buffers events.
  private func events() async throws -> String {
    let response = try await send("/events?every=100&count=5")
    let start = NIODeadline.now()
    var arrivals: [TimeAmount] = []
    for try await _ in response.body { arrivals.append(.now() - start) }
    guard let first = arrivals.first, let last = arrivals.last, last - first > .milliseconds(200) else {
      throw UnexpectedResult(message: "The first event came with the last, at \(arrivals.map(milliseconds)).")
    }
    return "at " + arrivals.map(milliseconds).joined(separator: ", ")
  }

  private func upload() async throws -> String {
    let bytes = DemoBytes(count: 16 << 10)
    var hash = SHA256()
    for await chunk in bytes { chunk.withUnsafeReadableBytes { hash.update(bufferPointer: $0) } }
    let start = NIODeadline.now()
    let response = try await send("/upload", method: .put, body: Body(bytes, length: bytes.count, isReplayable: true))
    let text = String(buffer: try await response.body.collect(upTo: 4096))
    try expect(text.contains("\"bytes\":\(bytes.count),"), text)
    try expect(text.contains(Hex.text(hash.finalize())), "The SHA-256 differs: \(text)")
    return "\(rate(bytes.count, since: start)), the same at both ends"
  }

  /// Checks that a small answer does not queue behind a large one on the same link.
  private func overtake() async throws -> String {
    let size = 48 << 10
    let start = NIODeadline.now()
    let big = try await send("/big?bytes=\(size)")
    var received = 0
    var small: TimeAmount?
    for try await chunk in big.body {
      received += chunk.readableBytes
      guard small == nil, received > size / 4 else { continue }
      let sent = NIODeadline.now()
      _ = try await send("/status").body.collect(upTo: 4096)
      small = .now() - sent
    }
    try expect(received == size, "\(received) of \(size) bytes came.")
    guard let small else { throw UnexpectedResult(message: "The download was over before a small request could run.") }
    return "\(rate(size, since: start)), the small one in \(milliseconds(small))"
  }

  private func together() async throws -> String {
    let count = 50
    let pause = 200
    let start = NIODeadline.now()
    let answered = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<count {
        group.addTask {
          let response = try await send("/slow?ms=\(pause)")
          return try await response.body.collect(upTo: 4096).readableBytes > 0 && response.status == .ok
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    try expect(answered == count, "\(answered) of \(count) were answered.")
    let time = NIODeadline.now() - start
    try expect(time < .milliseconds(Int64(count * pause / 2)), "They waited for each other: \(milliseconds(time)).")
    return "each \(pause) ms, all of them \(milliseconds(time))"
  }

  /// Sends a request as after DNS rebinding.
  private func rebinding() async throws -> String {
    guard stage.proxyAddress.scheme == "tcp" else { return "cannot reach a Unix socket" }
    let response = try await send("/status", host: "evil.example")
    _ = try await response.body.collect(upTo: 4096)
    try expect(response.status == .misdirectedRequest, "It was answered with \(response.status.code).")
    return "refused with 421"
  }

  // MARK: Helpers of steps

  func send(
    _ path: String, method: HTTPRequest.Method = .get, body: Body = .empty, host: String = "localhost"
  ) async throws -> Response {
    try await client.execute(Request(method, url: "http://\(host)\(path)", body: body))
  }

  func expect(_ isTrue: Bool, _ message: String) throws {
    if !isTrue { throw UnexpectedResult(message: message) }
  }

  func milliseconds(_ time: TimeAmount) -> String {
    "\(Decimal.text(Double(time.nanoseconds) / 1e6, digits: 1)) ms"
  }

  private func rate(_ bytes: Int, since start: NIODeadline) -> String {
    "\(ByteCount.text(Int(Double(bytes) / (Double((.now() - start).nanoseconds) / 1e9))))/s"
  }

  private func print(_ line: String) {
    StandardStream.output.writeText(line + "\n")
  }
}
