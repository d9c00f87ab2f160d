import Byway
import Foundation
import ProcessTransport
import TCPTransport
import TestPeers
import TestTools
import Testing
import UnixTransport

@testable import BywayCommand
@testable import BywayDaemonProcess
@testable import BywayGatewayProgram

@Suite("Links without a scheme") struct BarePlaceTests {
  private let transports = TransportRegistry([
    UnixTransport(), TCPTransport(), ExecTransport(),
  ])

  private func message(_ text: String, isProgram: Bool = false) throws -> String {
    let error = try #require(throws: (any Error).self) { try transports.link(named: text, isProgram: isProgram) }
    return error.asFailure.message
  }

  @Test(
    "a port, a host and a port, or a path is reported with the address to write",
    arguments: [
      ("127.0.0.1:7000", "\"127.0.0.1:7000\" has no scheme: write tcp://127.0.0.1:7000."),
      ("localhost:7000", "\"localhost:7000\" has no scheme: write tcp://localhost:7000."),
      ("[::1]:7000?open=dial", "\"[::1]:7000\" has no scheme: write tcp://[::1]:7000."),
      ("7000", "\"7000\" has no scheme: write tcp://127.0.0.1:7000."),
      ("65535", "\"65535\" has no scheme: write tcp://127.0.0.1:65535."),
      ("65536", "\"65536\" is not a port: write a number from 1 to 65535."),
      ("127.0.0.1:99999", "\"99999\" is not a port: write a number from 1 to 65535."),
      ("/none/x", "\"/none/x\" has no scheme: write unix:/none/x."),
      ("./x:1", "\"./x:1\" has no scheme: write unix:./x:1."),
      ("/dev/ttyUSB7", "\"/dev/ttyUSB7\" has no scheme: write serial:/dev/ttyUSB7."),
      ("/bin/cat", "\"/bin/cat\" has no scheme: write exec:/bin/cat."),
    ])
  func places(_ text: String, _ message: String) throws {
    #expect(try self.message(text) == message)
  }

  @Test("a path in the place of a program becomes an exec: address, unless it is a socket")
  func programs() async throws {
    #expect(try message("./x.py", isProgram: true) == "\"./x.py\" has no scheme: write exec:./x.py.")
    let error = try #require(throws: (any Error).self) { try PluginArgument("/none/x.py?path=/a", in: transports) }
    #expect(error.asFailure.message == "\"/none/x.py\" has no scheme: write exec:/none/x.py.")
    let folder = try TemporaryFolder()
    let file = try folder.write("x", to: "notes")
    let socket = folder["s"]
    let script = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    #expect(try await Program.python.run(["-c", script, socket]).exitCode == 0)
    #expect(try message(socket, isProgram: true) == "\"\(socket)\" has no scheme: write unix:\(socket).")
    #expect(try message(file) == "\"\(file)\" has no scheme: write unix:\(file).")
    #expect(try message(file, isProgram: true) == "\"\(file)\" has no scheme: write exec:\(file).")
    #expect(
      try message("/proc/self/fd/../../../dev/null")
        == "\"/proc/self/fd/../../../dev/null\" has no scheme: write serial:/proc/self/fd/../../../dev/null.")
  }

  @Test(
    "addresses with a scheme stay as they are, and a misspelt scheme is not read as a host",
    arguments: ["unix:/x", "exec:cat a:1", "tcp://127.0.0.1:1"])
  func addresses(_ text: String) throws {
    #expect(try transports.link(named: text).address.text == text)
    #expect(BarePlace("unxi:/dev/x", besides: transports.schemes) == nil)
    #expect(try message("unxi:/dev/x").contains("Did you mean \"unix\"?"))
    #expect(
      BarePlace("printer", besides: []) == nil && BarePlace("h:x", besides: []) == nil
        && BarePlace("h:", besides: []) == nil)
    #expect(BarePlace("80:x", besides: []) == nil && BarePlace("http://h:80", besides: []) == nil)
    #expect(BarePlace("tcp:80", besides: ["tcp"]) == nil && BarePlace("TCP:80", besides: ["tcp"]) == nil)
  }
}
