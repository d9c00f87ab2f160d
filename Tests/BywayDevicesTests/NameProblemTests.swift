import Byway
import BywayDevices
import Testing

@Suite("Names that devices give themselves") struct NameProblemTests {
  private func problem(of text: String) -> NameProblem? {
    do throws(NameProblem) { _ = try DeviceName.selfGiven(text) } catch { return error }
    return nil
  }

  @Test(
    "the gateway's end accepts a name exactly if the hub's end does",
    arguments: [
      ("printer", nil), ("Printer-2", nil), ("a--b", nil), ("xn-a", nil), ("bywayx", nil),
      ("xn--abc", .encoded), ("XN--ABC", .encoded), ("ab--c", .encoded),
      ("byway", .reserved), ("ByWay", .reserved),
      ("", .malformed), ("a.b", .malformed), ("-a", .malformed), ("a-", .malformed), ("ä", .malformed),
      (String(repeating: "a", count: 64), .malformed),
    ] as [(String, NameProblem?)])
  func sameRule(_ text: String, _ expected: NameProblem?) throws {
    #expect(problem(of: text) == expected)
    let claim = try #require(DeviceClaim(reading: Array("{\"name\":\"\(text)\"}".utf8)))
    switch claim.claimed {
    case .usable(let name): #expect(expected == nil && name.text == text.lowercased())
    case .unusable(let claimed, let problem): #expect(problem == expected && claimed == text)
    case .none: Issue.record("\(text) is no claim")
    }
    #expect((claim.name == nil) == (expected != nil))
  }

  @Test("a name of any length is cut, and stays invalid")
  func long() throws {
    let text = String(repeating: "a", count: 5_000)
    let claim = try #require(DeviceClaim(reading: Array("{\"name\":\"\(text)\"}".utf8)))
    #expect(claim.claimed == .unusable(String(text.prefix(64)), .malformed))
    #expect(DeviceClaim(reading: Array("\(claim.json)".utf8)) == claim)
  }

  @Test(
    "a claim without a name, or with a name that is not text, counts as a claim without a name",
    arguments: ["{}", #"{"name":7}"#, #"{"name":null}"#])
  func none(_ text: String) throws {
    #expect(try #require(DeviceClaim(reading: Array(text.utf8))).claimed == .none)
  }
}
