import BywayPrimitives
import HTTPTypes
import Testing

@testable import Byway
@testable import BywayInspector

/// Edits of the heads of messages, as pages send them.
@Suite("Edited heads of messages") struct EditedHeadTests {
  private static let mark = "[redacted]"

  private static func field(_ name: String, _ value: String) -> HTTPField {
    HTTPField(name: HTTPField.Name(name) ?? .from, value: value)
  }

  private func request(_ fields: [HTTPField] = [], path: String = "/a") -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path, headerFields: HTTPFields(fields))
  }

  private func edited(_ json: JSON, _ head: HTTPRequest) throws(EditFlaw) -> HTTPRequest {
    var head = head
    try EditedHead(json).apply(to: &head, isFixed: PausedMessage.isFixed)
    return head
  }

  private func lines(_ fields: HTTPFields) -> [String] { fields.map { "\($0.name.canonicalName): \($0.value)" } }

  private func reason(_ json: JSON, _ head: HTTPRequest? = nil) -> String? {
    do throws(EditFlaw) {
      _ = try edited(json, head ?? request())
      return nil
    } catch {
      return error.reason
    }
  }

  private func fields(_ pairs: [(String, String)]) -> JSON {
    ["fields": .array(pairs.map { .array([.string($0.0), .string($0.1)]) })]
  }

  @Test("an edit of one part leaves the others")
  func parts() throws {
    let head = request([Self.field("x-a", "1")])
    let other = try edited(["method": "PURGE"], head)
    #expect(other.method.rawValue == "PURGE" && other.path == "/a" && lines(other.headerFields) == ["x-a: 1"])
    let moved = try edited(["path": "/b?c=d"], head)
    #expect(moved.method == .get && moved.path == "/b?c=d" && lines(moved.headerFields) == ["x-a: 1"])
    let bare = try edited(["fields": []], head)
    #expect(bare.method == .get && bare.path == "/a" && bare.headerFields.isEmpty)
    #expect(bare.authority == "localhost" && bare.scheme == "http")
    var response = HTTPResponse(status: .ok, headerFields: [.contentType: "x"])
    try EditedHead(["status": 404]).apply(to: &response, isFixed: PausedMessage.isFixed)
    #expect(response.status.code == 404 && lines(response.headerFields) == ["content-type: x"])
  }

  @Test("the new fields are in the order of the edit, after those that an edit cannot change")
  func order() throws {
    let head = request([
      Self.field("x-a", "1"), Self.field("via", "1.1 before"), Self.field("x-b", "2"), Self.field("x-a", "3"),
      Self.field("content-length", "5"), Self.field("via", "1.1 second"),
    ])
    let json: JSON = ["fields": [["x-c", "4"], ["X-A"], ["x-c", "5"], ["x-b", ""], ["x-d"]]]
    #expect(
      lines(try edited(json, head).headerFields) == [
        "via: 1.1 before", "content-length: 5", "via: 1.1 second", "x-c: 4", "x-a: 1", "x-a: 3", "x-c: 5", "x-b: ",
      ])
  }

  @Test("at most 256 fields are accepted, and one more is refused")
  func count() throws {
    let pairs = (0..<256).map { ("x-\($0)", "v") }
    #expect(try edited(fields(pairs), request()).headerFields.count == 256)
    #expect(reason(fields(pairs + [("x-256", "v")]))?.contains("at most 256 fields") == true)
    // Fields that keep their values count as well.
    let kept = JSON.array((0..<257).map { .array([.string("x-\($0)")]) })
    #expect(reason(["fields": kept])?.contains("at most 256 fields") == true)
  }

  @Test("names and values of fields have at most 64 KiB together, and one byte more is refused")
  func size() throws {
    let half = String(repeating: "v", count: (32 << 10) - 3)
    #expect(try edited(fields([("x-a", half), ("x-b", half)]), request()).headerFields.count == 2)
    #expect(reason(fields([("x-a", half), ("x-b", half + "v")]))?.contains("64 KiB") == true)
    #expect(reason(fields([("x-a", half), ("x-bc", half)]))?.contains("64 KiB") == true)
    // Characters beyond ASCII count as bytes.
    #expect(reason(fields([("x-a", String(repeating: "é", count: 32 << 10))]))?.contains("64 KiB") == true)
  }

  @Test(
    "a status is accepted from 200 to 599",
    arguments: [(199, false), (200, true), (599, true), (600, false), (-200, false)])
  func statuses(_ code: Int, _ isValid: Bool) throws {
    var head = HTTPResponse(status: .accepted)
    if isValid {
      try EditedHead(["status": .number(code)]).apply(to: &head, isFixed: PausedMessage.isFixed)
      #expect(head.status.code == code)
    } else {
      let flaw = #expect(throws: EditFlaw.self) { try EditedHead(["status": .number(code)]) }
      #expect(flaw?.part == .status && flaw?.reason == "a status is a number from 200 to 599")
    }
  }

  @Test("a path of any characters of a URL is accepted, and the first and last others are refused")
  func path() throws {
    #expect(try edited(["path": "/!~%20?[]|"], request()).path == "/!~%20?[]|")
    for path in ["/\u{7F}", "/ ", "/\u{1F}", "", "*", "a/", "http://other/", "/a#"] {
      #expect(reason(["path": .string(path)])?.contains("a path begins with /") == true, "\(path)")
    }
  }

  @Test("CONNECT is refused in any case", arguments: ["CONNECT", "connect", "Connect"])
  func connect(_ method: String) {
    #expect(reason(["method": .string(method)]) == "\"\(method)\" is not a method")
  }

  @Test("a part that the other kind of message has is refused")
  func otherKind() throws {
    #expect(reason(["status": 200]) == "a request has no status")
    for (member, part) in [("method", EditFlaw.Part.method), ("path", .path)] {
      var head = HTTPResponse(status: .ok)
      let flaw = #expect(throws: EditFlaw.self) {
        try EditedHead(.object([.init(member, "/")])).apply(to: &head, isFixed: PausedMessage.isFixed)
      }
      #expect(flaw?.part == part && flaw?.reason == "a response has no \(member)")
    }
  }

  @Test(
    "the placeholder of a secret is refused unless it was there before",
    arguments: [
      ("x-a", "b \(mark)", false), ("x-a", "a \(mark)", true), ("x-a", "c \(mark)", true), ("x-b", "a \(mark)", false),
      ("X-A", "c \(mark)", true),
    ])
  func placeholders(_ name: String, _ value: String, _ isAccepted: Bool) {
    // A secret text may contain the placeholder itself.
    let head = request([Self.field("x-a", "a \(Self.mark)"), Self.field("x-a", "c \(Self.mark)")])
    #expect((reason(fields([("x-ok", "1"), (name, value)]), head) == nil) == isAccepted)
  }

  @Test("the placeholder in a path is refused unless the path had one")
  func placeholderInPath() {
    let path: JSON = ["path": .string("/b?token=\(Self.mark)")]
    #expect(reason(path)?.contains("write the secret") == true)
    #expect(reason(path, request(path: "/a?token=\(Self.mark)")) == nil)
  }

  @Test("a fixed field is refused with a value or without, after accepted ones, and in any case")
  func fixed() {
    for name in [
      "Host", "EXPECT", "content-encoding", "Proxy-Authorization", "via", "byway-user", "BYWAY-x", "content-length",
      "transfer-encoding", "connection", "keep-alive", "te", "upgrade", "proxy-connection",
    ] {
      #expect(reason(["fields": [["x-a", "1"], [.string(name)]]])?.contains("leave it out") == true, "\(name)")
      #expect(reason(["fields": [["x-a", "1"], [.string(name), "v"]]])?.contains("out") == true, "\(name)")
    }
    // The names only begin alike.
    for name in ["via-x", "hosts", "byway", "x-byway-user", "content-encodings"] {
      #expect(reason(["fields": [[.string(name), "v"]]]) == nil, "\(name)")
    }
  }

  @Test("each of several fields is checked")
  func later() {
    for (pair, part): (JSON, String) in [
      (["x b", "1"], "is not the name of a field"), (["x-b", "1\n2"], "a line break"),
      (["x-b", .string(Self.mark)], "secret"),
      (["x-b", 1], "a field is"), (["x-b", "1", "2"], "a field is"), ("x-b", "a field is"),
    ] {
      #expect(reason(["fields": [["x-a", "1"], pair, ["x-c", "1"]]])?.contains(part) == true, "\(pair)")
    }
  }
}
