import BywayHTTPWire
import BywayPrimitives
import NIOCore
import Testing

@testable import Byway
@testable import BywayInspector

/// Exchanges as the inspector shows them.
@Suite("Details of an exchange in the inspector") struct InspectedExchangeViewTests {
  private func inspected(_ head: FieldSection) -> InspectedExchange {
    InspectedExchange(
      id: 1, version: 1, begun: 0,
      record: ExchangeRecord(listener: "unix:/l", version: .http1_1, head: head, trace: nil, begun: .now()))
  }

  private func text(_ inspected: InspectedExchange, showsSecrets: Bool = false) -> String {
    "\(InspectedExchangeView(showsSecrets: showsSecrets).detail(inspected))"
  }

  @Test(
    "a secret in a changed field is hidden before and after the change",
    arguments: [
      ("referer", "http://me:hidden@x/", "http://x/"), ("referer", "http://x/", "http://me:hidden@x/"),
      ("referer", "http://me:hidden@x/", "http://you:hidden@x/"), ("authorization", "Basic hidden", "Basic hidden2"),
    ])
  func changed(_ name: String, _ before: String, _ after: String) {
    var fields: FieldSection = [":method": "GET", ":path": "/"]
    fields.append(name: name, value: before)
    var request = inspected(fields)
    request.sent = [":method": "GET", ":path": "/"]
    request.sent?.append(name: name, value: after)
    #expect(!text(request).contains("hidden") && text(request).contains("changed"), "\(text(request))")
    #expect(text(request, showsSecrets: true).contains("hidden"))
    var response = inspected([":method": "GET", ":path": "/"])
    (response.answered, response.given) = ([":status": "200"], [":status": "200"])
    response.answered?.append(name: name, value: before)
    response.given?.append(name: name, value: after)
    #expect(!text(response).contains("hidden") && text(response).contains("changed"), "\(text(response))")
  }

  @Test("a secret in an added or removed field or in a trailer is hidden")
  func addedAndRemoved() {
    let (plain, secret): (FieldSection, FieldSection) = ([":method": "GET"], [":method": "GET", "cookie": "hidden"])
    for (before, after) in [(plain, secret), (secret, plain)] {
      var request = inspected(before)
      request.sent = after
      #expect(!text(request).contains("hidden"))
    }
    var response = inspected([":method": "GET"])
    response.given = [":status": "200"]
    response.trailers = ["set-cookie": "hidden"]
    #expect(!text(response).contains("hidden"))
  }

  @Test("the notes of plugins are in the feed and in the details, and absent if there are none")
  func notes() {
    var request = inspected([":method": "GET", ":path": "/"])
    let view = InspectedExchangeView(showsSecrets: false)
    #expect(view.json(request)["notes"] == nil)
    request.record.notes = [.init(plugin: "stamp", text: "page \"7\"")]
    let expected: JSON = [["plugin": "stamp", "text": "page \"7\""]]
    #expect(view.json(request)["notes"] == expected && view.detail(request)["notes"] == expected)
  }

  @Test("a request with an incomplete stored body is not sent again, unless it gets another body")
  func truncated() throws {
    for (kept, count, isWhole) in [("", 0, true), ("12345", 5, true), ("1234", 5, false), ("", 5, false)] {
      var request = inspected([":method": "POST", ":path": "/", ":scheme": "http", ":authority": "x"])
      request.requestBody.kept = ByteBuffer(string: kept)
      request.requestBody.count = count
      if isWhole {
        #expect(try ResendChanges("").request(from: request).body.length == count)
      } else {
        let error = #expect(throws: BywayError.self) { try ResendChanges("").request(from: request) }
        #expect(error?.code == .unsupported)
      }
      // "abc"
      #expect(try ResendChanges(#"{"body":"YWJj"}"#).request(from: request).body.length == 3)
    }
  }
}
