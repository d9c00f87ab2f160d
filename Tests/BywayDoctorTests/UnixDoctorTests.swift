import Byway
import BywayDoctor
import BywayGateway
import Glibc
import HTTPTypes
import TestTools
import Testing
import TransportTestSupport
import UnixTransport

/// Links over Unix sockets, working and failing.
@Suite("Doctor: Unix sockets", .timeLimit(.minutes(2))) struct UnixDoctorTests: ExaminingSuite {
  private let folder: TemporaryFolder
  let transports = TransportRegistry([UnixTransport()])

  init() throws { folder = try TemporaryFolder() }

  private func gateway(_ origin: Origin) async throws -> Gateway {
    try await Gateway.start(
      GatewayConfiguration(links: [try transports.link("unix:\(folder["s"])")], origin: origin))
  }

  @Test("the doctor reports a gateway on a Unix socket as sound")
  func sound() async throws {
    let gateway = try await gateway(.handler { _ in Response(status: .ok) })
    let report = try await examine("unix:\(folder["s"])")
    #expect(report.expects(nil), "\(report.json)")
    await gateway.stop(within: .zero)
  }

  @Test("the doctor reports a missing file, a regular file and a stale socket")
  func files() async throws {
    #expect(try await examine("unix:\(folder["missing"])").expects(.noFile))
    try folder.write("x", to: "regular")
    #expect(try await examine("unix:\(folder["regular"])").expects(.notASocket))
  }

  @Test(
    "an error of a Unix link has the fault and the sentence that the doctor reports",
    arguments: ["stale", "regular", "s/s"])
  func sameDiagnosis(_ name: String) async throws {
    try StaleSocket.make(at: folder["stale"])
    try folder.write("x", to: "regular")
    let link = try transports.link("unix:\(folder[name])")
    let report = await Doctor(transports).examine(link)
    let error = await #expect(throws: BywayError.self) {
      try await link.medium.connect(to: link.address, context: .ofExamination(within: .seconds(5)))
    }
    let last = try #require(report.steps.last?.diagnosis)
    #expect(error?.diagnosis?.fault == last.fault, "\(report.json)")
    #expect(error?.message == last.sentence, "\(report.json)")
  }

  @Test("the doctor reports a gateway on a Unix socket whose origin is unreachable")
  func noOrigin() async throws {
    let gateway = try await gateway(Origin("unix:\(folder["o"])"))
    #expect(try await examine("unix:\(folder["s"])").expects(.noOrigin))
    await gateway.stop(within: .zero)
  }
}
