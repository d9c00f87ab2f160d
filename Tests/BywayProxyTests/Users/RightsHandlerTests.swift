import Byway
import BywayDevices
import BywayHTTPWire
import NIOCore
import Testing

@testable import BywayProxy

/// Rights that are checked again behind the interceptors.
@Suite("Rights of rewritten requests") struct RightsHandlerTests {
  private final class Handler: ExchangeHandler, RequestSink, ResponseSink {
    var begun = 0
    var failure: BywayError?

    func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
      begun += 1
      return self
    }

    func cancel(_ reason: BywayError) {}
    func didConsumeResponse(_ bytes: Int) {}
    func informational(_ head: FieldSection) {}
    func head(_ head: FieldSection, isComplete: Bool) {}
    func write(_ bytes: ByteBuffer) {}
    func finish(trailers: FieldSection?) {}
    func fail(_ error: BywayError) { failure = error }
    func didConsumeRequest(_ bytes: Int) {}
  }

  @Test("a request with another device's name needs the right to that device, even if its first device was admitted")
  func rewritten() throws {
    let next = Handler()
    let rights = try RightsHandler(
      Rights("alice = printer", named: "rights"), HostRules(names: [], devices: DeviceHosts()), before: next)
    var head = ExchangeHead(
      fields: [":method": "GET", ":authority": "printer.localhost", ":path": "/"], isComplete: true)
    head.user = .user(try #require(UserName("alice")), by: .password)
    head.device = next
    head.set(.maxForwards, "1")
    _ = rights.begin(head, respondingTo: next)
    #expect(next.begun == 1 && next.failure == nil)
    head.set(.authority, "camera.localhost")
    _ = rights.begin(head, respondingTo: next)
    #expect(next.begun == 1)
    #expect(next.failure?.code == .forbidden)
    head.set(.authority, "PRINTER.localhost:80")
    _ = rights.begin(head, respondingTo: next)
    #expect(next.begun == 2)
  }
}
