import Byway
import BywayHTTPWire
import NIOCore
import Synchronization
import TestWire
import Testing

/// An HTTP/1.1 upstream with a raw connection as its origin.
struct HTTP1ClientFixture {
  let eventLoop: any EventLoop
  let upstream: Unshared<any ExchangeHandler>
  let watch: Watch
  private let dialed = Dialed()
  /// The first connection, held back until ``releaseDial()``.
  private let held: (promise: EventLoopPromise<any Channel>, far: any Channel)?

  /// The origin's ends of the opened connections.
  private final class Dialed: Sendable {
    let ends = Mutex<[WireEnd]>([])
  }

  /// - Parameter holdsFirstDial: whether the first connection is held back until ``releaseDial()``.
  init(
    hop: String? = "hop", holdsFirstDial: Bool = false,
    configure: (inout HTTP1Upstream.Configuration) -> Void = { _ in }
  ) async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configure(&configuration)
    eventLoop = TestLoops.next()
    watch = Watch(eventLoop)
    if holdsFirstDial {
      let (near, far) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
      dialed.ends.withLock { $0.append(near) }
      held = (eventLoop.makePromise(), far)
    } else {
      held = nil
    }
    let hold = Mutex(held?.promise)
    let dialer = Dialer(name: "origin") { [dialed] eventLoop, _ in
      if let promise = hold.withLock({ $0.take() }) { return promise.futureResult }
      return eventLoop.makeFutureWithTask {
        let (near, far) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
        dialed.ends.withLock { $0.append(near) }
        return far
      }
    }
    upstream = Unshared(HTTP1Upstream(dialer: dialer, on: eventLoop, hop: hop, configuration: configuration))
  }

  /// Waits until a connection is opened, and returns the origin's end of it.
  func origin(_ index: Int = 0) async throws -> WireEnd {
    try await watch.until("connection \(index) was opened") { [dialed] in dialed.ends.withLock { $0.count > index } }
    return dialed.ends.withLock { $0[index] }
  }

  var connectionCount: Int { dialed.ends.withLock(\.count) }

  /// Completes the first dial.
  func releaseDial() async throws {
    try await watch.run { [held] in held.map { $0.promise.succeed($0.far) } }
  }

  func begin(
    _ request: FieldSection = FieldSection.get, isComplete: Bool = true, deadline: NIODeadline? = nil,
    replay: String? = nil
  ) async throws -> CollectedResponse {
    let response = CollectedResponse(eventLoop, replay: replay)
    try await response.begin(request, isComplete: isComplete, deadline: deadline, with: upstream)
    return response
  }

  /// The origin's response without content.
  static let answer = "HTTP/1.1 204 No Content\r\n\r\n"

  /// Reads a request without a body on a connection, and answers it.
  /// - Returns: the request's head.
  @discardableResult
  func answer(_ response: CollectedResponse, on connection: Int = 0) async throws -> String {
    let origin = try await origin(connection)
    let request = try await origin.receive(through: "\r\n\r\n")
    try await origin.send(Self.answer)
    #expect(try await response.response().head.status == 204)
    return request
  }

  /// Runs one exchange, which leaves its connection idle.
  func warmUp() async throws {
    try await answer(begin())
  }

  func shutDown() async throws {
    try await watch.run { [upstream] in _ = (upstream.value as? any Upstream)?.shutDown() }
  }
}

extension FieldSection {
  static var get: FieldSection { [":method": "GET", ":scheme": "http", ":authority": "device", ":path": "/"] }
  static var post: FieldSection { [":method": "POST", ":scheme": "http", ":authority": "device", ":path": "/"] }
  static var webSocket: FieldSection {
    [
      ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "device", ":path": "/chat",
      "sec-websocket-protocol": "chat",
    ]
  }
}
