import NIOCore
import Testing

@testable import Byway

/// The state of a link that a gateway dials, in virtual time.
@Suite("State of a dialed link") struct DialRecordTests {
  private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1_000) + .seconds(seconds) }

  @Test("a link stays refused until a connection has lasted, and only then the log says that it is open")
  func refused() {
    var record = DialRecord()
    #expect(record.state == .dialing)
    #expect(record.opened() == .info)
    #expect(record.ended(.refused("no"), after: .zero, at: at(1)) == .line(repeated: 0))
    #expect(record.state == .refused(reason: "no", since: at(1)))
    #expect(record.opened() == .debug)
    #expect(record.state == .refused(reason: "no", since: at(1)))
    #expect(record.ended(.refused("no"), after: .zero, at: at(5)) == .repetition)
    #expect(record.state == .refused(reason: "no", since: at(1)))
    #expect(record.ended(.refused("never"), after: .zero, at: at(6)) == .line(repeated: 1))
    #expect(record.state == .refused(reason: "never", since: at(6)))
    #expect(record.opened() == .debug)
    let (first, second) = (record.lasted(), record.lasted())
    #expect(first && !second)
    #expect(record.state == .dialing)
    #expect(record.opened() == .info)
    // The next refusal for a known reason is news again.
    #expect(record.ended(.refused("no"), after: .zero, at: at(8)) == .line(repeated: 0))
  }

  @Test("if a hub refuses a link that was open for hours, the state is refused")
  func late() {
    var record = DialRecord()
    _ = record.opened()
    let isNews = record.lasted()
    #expect(!isNews)
    #expect(record.ended(.refused("renamed"), after: .hours(3), at: at(9)) == .line(repeated: 0))
    #expect(record.state == .refused(reason: "renamed", since: at(9)))
  }

  @Test("a connection that ends at once without a reason counts as refused, and a longer one does not")
  func short() {
    for (farewell, words) in [(nil, "gave no reason"), (.failed("reset"), "as soon as it was open: reset")]
      as [(Farewell?, String)]
    {
      var record = DialRecord()
      _ = record.opened()
      #expect(record.ended(farewell, after: DialRecord.probation, at: at(2)) == nil)
      #expect(record.state == .dialing)
      let life = DialRecord.probation - .nanoseconds(1)
      #expect(record.ended(farewell, after: life, at: at(4)) == .line(repeated: 0))
      guard case .refused(let reason, at(4)) = record.state else {
        Issue.record("\(record.state)")
        continue
      }
      #expect(reason.contains(words))
    }
  }

  @Test("a failed attempt is shown with its reason and the time of the first failure until a connection opens")
  func failed() {
    var record = DialRecord()
    #expect(record.failed(.failed("no route"), at: at(1)) == .line(repeated: 0))
    #expect(record.failed(.failed("no route"), at: at(3)) == .repetition)
    #expect(record.state == .down(reason: "no route", since: at(1)))
    #expect(record.failed(.failed("no answer"), at: at(5)) == .line(repeated: 1))
    #expect(record.state == .down(reason: "no answer", since: at(5)))
    #expect(record.failed(.refused("our certificate"), at: at(7)) == .line(repeated: 0))
    #expect(record.state == .refused(reason: "our certificate", since: at(7)))
    #expect(record.failed(.failed("no answer"), at: at(9)) == .repetition)
    #expect(record.state == .down(reason: "no answer", since: at(9)))
    #expect(record.opened() == .info)
    #expect(record.state == .dialing)
  }

  @Test("an error about this end's certificate is a refusal, and others are failures")
  func classified() {
    for fault in [LinkFault.clientCertificateRefused, .clientCertificateWanted] {
      #expect(Farewell(BywayError(.linkUnavailable, Diagnosis(fault, "It says no."))) == .refused("It says no."))
    }
    let other = BywayError(.linkUnavailable, Diagnosis(.noRoute, "No route."))
    #expect(Farewell(other) == .failed("\(other)"))
    #expect(Farewell(CancellationError()) == .failed("CancellationError()"))
  }
}
