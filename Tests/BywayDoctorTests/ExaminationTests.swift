import Byway
import BywayGateway
import HTTPTypes
import TestTools
import Testing
import UnixTransport

@testable import BywayDoctor

/// Time limits of checks.
@Suite("Doctor: time limits", .timeLimit(.minutes(1))) struct ExaminationTests {
  /// A check that ends only when cancelled.
  private struct EndlessCheck: LinkCheck {
    static let title = "endless"
    let limit: Duration

    func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
      try await untilCancelled()
      return .sound("It has ended.")
    }
  }

  private struct QuickCheck: LinkCheck {
    static let title = "quick"
    var time = Duration.zero

    func examine(_ resources: OpenedResources) async throws -> Finding<Int> {
      // Real time: limits of checks have no other clock.
      try await Task.sleep(for: time)
      return .sound("It is there.", 7)
    }
  }

  @Test(
    "a check ends at its own limit or at the common limit of all checks, whichever is sooner",
    arguments: [(own: 0.1, all: 3600.0), (own: 3600.0, all: 0.1), (own: 3600.0, all: -1.0)])
  func limits(own: Double, all: Double) async throws {
    let examination = Examination(within: .seconds(all))
    await #expect(throws: Examination.Over.late) {
      try await examination.make(EndlessCheck(limit: .seconds(own)))
    }
    #expect(await examination.steps.map(\.title) == ["endless"])
  }

  @Test("the time of earlier checks counts toward the common limit")
  func together() async throws {
    let examination = Examination(within: .milliseconds(500))
    #expect(try await examination.make(QuickCheck()) == 7)
    await #expect(throws: Examination.Over.late) { try await examination.make(EndlessCheck(limit: .seconds(3600))) }
    // This check needs half of the limit, which is used up.
    await #expect(throws: Examination.Over.late) { try await examination.make(QuickCheck(time: .milliseconds(250))) }
    #expect(await examination.steps.map(\.title) == ["quick", "endless", "quick"])
  }

  @Test("the connection of the gateway check closes with the examination, while its client still exists")
  func closed() async throws {
    let folder = try TemporaryFolder()
    let link = try TransportRegistry([UnixTransport()]).link("unix:\(folder["s"])")
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [link], origin: .handler { _ in Response(status: .ok) }))
    let resources = OpenedResources()
    let finding = try await GatewayCheck(link: link).examine(resources)
    #expect(await gateway.openLinks().count == 1)
    await resources.release()
    #expect(try await eventually { await gateway.openLinks().isEmpty })
    withExtendedLifetime(finding) {}
    await gateway.stop(within: .zero)
  }
}
