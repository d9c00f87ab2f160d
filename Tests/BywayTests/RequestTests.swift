import Byway
import NIOCore
import Testing

@Suite struct RequestTests {
  @Test(
    "a URL is parsed with its query byte for byte",
    arguments: [
      ("http://device", "http", "device", "/"),
      ("HTTP://device:8080/a%2Fb?c=%20&d=//e#f", "http", "device:8080", "/a%2Fb?c=%20&d=//e"),
      ("https://[::1]/x", "https", "[::1]", "/x"),
      ("http://device?x", "http", "device", "/?x"),
      ("http://device#/x", "http", "device", "/"),
      ("key://vault/one", "key", "vault", "/one"),
    ])
  func reads(_ url: String, _ scheme: String, _ authority: String, _ path: String) throws {
    let head = try Request(url: url).head
    #expect(head.scheme == scheme)
    #expect(head.authority == authority)
    #expect(head.path == path)
  }

  @Test(
    "an invalid request target is refused",
    arguments: [
      "", "/path", "http:///x", "https://u:p@[::1]/x", "http://b\u{FC}cher.example/", "http://a:99999/", "http://a/b c",
      "http://a/\r\nX: y", "device/x",
    ])
  func refuses(_ url: String) {
    #expect(throws: BywayError.self) { try Request(url: url) }
  }

  @Test("a body of known length is collected up to the given limit")
  func collects() async throws {
    let body = Body("four")
    #expect(String(buffer: try await body.collect(upTo: 4)) == "four")
    #expect(String(buffer: try await body.collect(upTo: 4)) == "four")
    let error = await #expect(throws: BywayError.self) { try await body.collect(upTo: 3) }
    #expect(error?.code == .tooLarge)
  }
}
