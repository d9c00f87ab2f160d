import BywayHTTPWire
import Logging
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// An upstream and a server at the ends of a line in virtual time, which have served a request.
final class UpstreamOnLine {
  private final class Settings {
    var loop: EmbeddedEventLoop?
    var answer = RiggedOrigin.Answer.answers(after: .zero)
  }

  let rig: LineRig
  let upstream: any Upstream
  let server: HTTP2ServerConnection
  private let settings = Settings()

  /// The answer of the server to requests that begin from now on.
  var answer: RiggedOrigin.Answer {
    get { settings.answer }
    set { settings.answer = newValue }
  }

  /// - Parameters:
  ///   - wireRate: as of ``LineRig``.
  ///   - received: called when a request's head has arrived at the server, with its path.
  init(wireRate: Double? = nil, received: @escaping (String) -> Void = { _ in }) throws {
    let rig = try LineRig(wireRate: wireRate, hasReaders: false)
    self.rig = rig
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let origin = RiggedOrigin(
      on: { [settings] in settings.loop }, { [settings] in settings.answer }, received: received)
    settings.loop = rig.loop
    server = HTTP2ServerConnection.start(
      on: try #require(rig.far.channel), handler: origin,
      configuration: ServerConfiguration(hop: "far", logger: logger))
    let near = Unshared(try #require(rig.near.channel))
    let loop = Unshared(rig.loop)
    let dialer = Dialer(name: "serial:test") { _, _ in loop.value.makeSucceededFuture(near.value as any Channel) }
    upstream = HTTP2Upstream(dialer: dialer, on: rig.loop, hop: nil, logger: logger)
    let first = begin()
    try rig.run(for: .seconds(5)) { first.isOver }
    #expect(first.status == "200")
  }

  func begin(_ head: ExchangeHead = ExchangeHead(fields: .get, isComplete: true)) -> RiggedResponse {
    let response = RiggedResponse(at: rig.loop.now, deadline: nil, on: rig.loop)
    response.request = upstream.begin(head, respondingTo: response)
    return response
  }
}
