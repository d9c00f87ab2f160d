import Logging
import NIOCore
import NIOPosix
import Testing

@testable import Byway

/// The steps of opening a link, as a transport reports them.
@Suite("Journal of a link", .timeLimit(.minutes(1))) struct LinkJournalTests {
  private struct Nameless: Error {}

  private struct WrongCheck: LinkCheck {
    static let title = "wrong"

    func examine(_ resources: OpenedResources) async throws -> Finding<Int> {
      .wrong(Diagnosis(.inUse, "It is in use."))
    }
  }

  private let resources = OpenedResources()

  private func context(_ journal: LinkJournal?) -> LinkContext {
    var context = LinkContext(
      group: MultiThreadedEventLoopGroup.singleton,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), deadline: .now() + .seconds(10))
    context.journal = journal
    return context
  }

  @Test("a journal records a successful step with its observation, and a failed one with the diagnosis of its error")
  func steps() async throws {
    let journal = LinkJournal(within: .seconds(10), resources)
    let context = context(journal)
    let value = try await context.step("counts", saw: { value, _ in .sound("It has \(value).") }) { 7 }
    #expect(value == 7)
    let error = BywayError(.linkUnavailable, Diagnosis(.noRoute, "There is no route.", command: "ip route"))
    await #expect(throws: BywayError.self) {
      try await context.step("connects", or: .badSettings, saw: { _, _ in .sound("") }) { throw error }
    }
    await #expect(throws: Nameless.self) {
      try await context.step("TLS", or: .badSettings, saw: { _, _ in .sound("") }) { throw Nameless() }
    }
    #expect(journal.steps.map(\.title) == ["counts", "connects", "TLS"])
    #expect(journal.steps.map(\.word) == ["sound", "wrong", "wrong"])
    #expect(journal.steps.map(\.saw) == ["It has 7.", nil, nil])
    #expect(journal.steps.map(\.diagnosis?.fault) == [nil, .noRoute, .badSettings])
    #expect(journal.steps[1].diagnosis?.command == "ip route" && error.message == "There is no route.")
  }

  @Test("a journal does not record a cancelled step")
  func cancelled() async throws {
    let journal = LinkJournal(within: .seconds(10), resources)
    await #expect(throws: CancellationError.self) {
      try await context(journal).step("connects", saw: { _, _ in .sound("") }) { throw CancellationError() }
    }
    #expect(journal.steps.isEmpty)
  }

  @Test("a journal keeps 32 steps and drops further ones, but for a fault")
  func bounded() async throws {
    let (steps, report) = AsyncStream.makeStream(of: LinkStep.self)
    let journal = LinkJournal(within: .seconds(10), resources) { report.yield($0) }
    for number in 1...40 { try await context(journal).step("\(number)", saw: { _, _ in .sound("") }) {} }
    await #expect(throws: ExaminationEnd.wrong) { try await context(journal).make(WrongCheck()) }
    report.finish()
    let expected = (1...32).map { "\($0)" } + ["wrong"]
    #expect(journal.steps.map(\.title) == expected)
    #expect(await steps.reduce(into: []) { $0.append($1.title) } == expected)
  }

  @Test("a link that is opened without an examination makes no checks, and no observation of its steps")
  func ordinary() async throws {
    let context = context(nil)
    await #expect(throws: ExaminationEnd.cancelled) { try await context.make(WrongCheck()) }
    let value = try await context.step(
      "connects",
      saw: { _, _ in
        Issue.record("An observation was made.")
        return .sound("")
      }
    ) { 7 }
    #expect(value == 7)
  }

  @Test("a check that finds a fault ends the examination, and its step is in the journal")
  func checks() async throws {
    let journal = LinkJournal(within: .seconds(10), resources)
    await #expect(throws: ExaminationEnd.wrong) { try await context(journal).make(WrongCheck()) }
    #expect(journal.steps.map(\.diagnosis?.fault) == [.inUse])
  }
}
