import HTTPWire
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

  init() throws {
    let rig = try LineRig(hasReaders: false)
    self.rig = rig
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let origin = RiggedOrigin(on: { [settings] in settings.loop }) { [settings] in settings.answer }
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

  func begin() -> RiggedResponse {
    let response = RiggedResponse(at: rig.loop.now, deadline: nil, on: rig.loop)
    response.request = upstream.begin(ExchangeHead(fields: .get, isComplete: true), respondingTo: response)
    return response
  }
}
