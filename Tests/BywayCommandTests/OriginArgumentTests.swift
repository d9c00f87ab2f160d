import BywayGateway
import Testing

@testable import BywayCommand
@testable import BywayDaemonProcess
@testable import BywayGatewayProgram

@Suite("Origins as arguments") struct OriginArgumentTests {
  @Test(
    "an origin is its address, a port of this machine, or a host and a port",
    arguments: [
      ("8000", "http://127.0.0.1:8000"), ("127.0.0.1:8000", "http://127.0.0.1:8000"),
      ("localhost:8000", "http://localhost:8000"), ("[::1]:80", "http://[::1]:80"),
      ("http://printer", "http://printer"), ("unix:/run/app.sock", "unix:/run/app.sock"),
      ("h2c://127.0.0.1:50051", "h2c://127.0.0.1:50051"),
      ("65535", "http://127.0.0.1:65535"),
    ])
  func forms(_ text: String, _ origin: String) throws {
    #expect(try OriginArgument.origin(text).text == origin)
  }

  @Test(
    "a mistake in an origin is reported with what to write",
    arguments: [
      ("65536", "\"65536\" is not a port: write a number from 1 to 65535."),
      (
        "127.0.0.1:99999", "\"127.0.0.1:99999\" is not a host, nor a host and port: a port is a number from 1 to 65535."
      ),
      ("/run/app.sock", "\"/run/app.sock\" has no scheme: write unix:/run/app.sock for a socket."),
    ])
  func mistakes(_ text: String, _ message: String) throws {
    let error = try #require(throws: (any Error).self) { try OriginArgument.origin(text) }
    #expect(error.asFailure.message == message)
  }

  @Test("other texts are refused", arguments: ["", "80808", "printer", "htp://x", "127.0.0.1:99999", "http:"])
  func refused(_ text: String) {
    #expect(throws: (any Error).self) { try OriginArgument.origin(text) }
  }
}
