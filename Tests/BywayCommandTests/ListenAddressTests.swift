import Byway
import BywayTerminal
import TCPTransport
import Testing
import UnixTransport

@testable import BywayCommand

@Suite("Listen addresses") struct ListenAddressTests {
  private let transports = TransportRegistry([UnixTransport(), TCPTransport()])

  @Test(
    "a listen address is a port, a host and a port, a path, or a link address",
    arguments: [
      ("127.0.0.1:8080", "tcp://127.0.0.1:8080"), ("8080", "tcp://127.0.0.1:8080"),
      ("[::1]:0", "tcp://[::1]:0"), ("localhost:80", "tcp://localhost:80"),
      ("tcp://127.0.0.1:1", "tcp://127.0.0.1:1"), ("unix:/run/p.sock", "unix:/run/p.sock"),
      ("unix:/run/p.sock?mode=0600", "unix:/run/p.sock?mode=0600"),
    ])
  func forms(_ text: String, _ link: String) throws {
    #expect(try ListenAddress(text).link(in: transports).address.text == link)
  }

  @Test(
    "an address that other machines can reach requires its flag",
    arguments: ["0.0.0.0:8080", "192.0.2.1:80", "[::]:80"])
  func anywhere(_ text: String) throws {
    let failure = try #require(throws: CommandFailure.self) { try ListenAddress(text).link(in: transports) }
    #expect(failure.status == .usage)
    #expect(failure.message.contains("--listen-anywhere"))
    let open = try ListenAddress(text).link(in: transports, anywhere: true).address
    #expect(open[option: "insecure"] == "yes")
    #expect(open.text == "tcp://\(text)")
  }

  @Test(
    "an invalid listen address is refused",
    arguments: ["80808", "", "/run/p.sock", "127.0.0.1", "127.0.0.1:99999", "tpc://x:1"])
  func refused(_ text: String) {
    #expect(throws: (any Error).self) { try ListenAddress(text).link(in: transports) }
  }

  @Test(
    "an error in an address is reported in terms of --listen",
    arguments: [
      (":8080", "write 127.0.0.1:8080"),
      ("80808", "\"80808\" is not a port: write a number from 1 to 65535, for example 127.0.0.1:8080."),
      ("127.0.0.1:80x", "\"80x\" is not a port"), ("127.0.0.1:+80", "\"+80\" is not a port"),
      ("localhost:99999", "\"99999\" is not a port: write a number from 1 to 65535"),
      ("proxy", "write HOST:PORT or unix:PATH"),
    ])
  func mistakes(_ text: String, _ message: String) throws {
    let failure = try #require(throws: CommandFailure.self) { try ListenAddress(text) }
    #expect(failure.message.hasPrefix("--listen \(text): ") && failure.message.contains(message), "\(failure.message)")
  }

  @Test("an error in a link address is reported with the option")
  func option() throws {
    let failure = try #require(throws: CommandFailure.self) {
      try ListenAddress("tcp://127.0.0.1:65536", of: "--metrics").link(in: transports)
    }
    #expect(failure.message.hasPrefix("--metrics: \"127.0.0.1:65536\" is not a host"), "\(failure.message)")
    #expect(failure.message.hasSuffix("a port is a number from 1 to 65535."), "\(failure.message)")
  }

  @Test("the ready message shows a URL")
  func url() throws {
    #expect(try LinkAddress("tcp://127.0.0.1:80?insecure=yes").clientURL == "http://127.0.0.1:80")
    #expect(try LinkAddress("tls://127.0.0.1:443?cert=a&key=b").clientURL == "https://127.0.0.1:443")
    #expect(try LinkAddress("unix:/run/p.sock").clientURL == "unix:/run/p.sock")
  }
}
