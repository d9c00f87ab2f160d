import Byway
import Glibc
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import ProcessTransport

/// Uses descriptors in place of standard input and output; the transport matrix has a process with real ones.
@Suite struct StdioTransportTests {
  @Test("if a standard stream cannot be a link, the error says why")
  func unusable() async throws {
    let pipe = try await Ends.pipe()
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    let file = open("/proc/self/exe", O_RDONLY)
    let null = open("/dev/null", O_RDWR)
    #expect(await failure(terminal, pipe.write)?.hasPrefix("Standard input is a terminal") == true)
    #expect(await failure(pipe.read, terminal)?.hasPrefix("Standard output is a terminal") == true)
    #expect(await failure(file, pipe.write)?.hasPrefix("Standard input is a file or a device") == true)
    #expect(await failure(pipe.read, null)?.hasPrefix("Standard output is a file or a device") == true)
    #expect(await failure(-1, pipe.write)?.hasPrefix("Standard input is closed") == true)
    for descriptor in [terminal, file, null, pipe.read, pipe.write] { close(descriptor) }
  }

  @Test("a link on standard input and output opens only once")
  func once() async throws {
    let (input, output) = (try await Ends.pipe(), try await Ends.pipe())
    let transport = StdioTransport(streams: StandardStreams(input: input.read, output: output.write))
    let listener = try await transport.listen(on: LinkAddress("stdio:"), context: .test())
    let channel = try #require(try await nextChannel(of: listener))
    let again = try await Ends.pipe()
    dup2(again.read, input.read)
    dup2(again.write, output.write)
    let error = await bywayError { try await transport.connect(to: LinkAddress("stdio:"), context: .test()) }
    #expect(error?.message.contains("can only be given once") == true)
    try await channel.close().get()
    for end in [input, output, again] { end.close() }
  }

  @Test("closing a link on pipes restores their mode, and leaves none of them open", arguments: [false, true])
  func restoresPipes(_ closesOutputFirst: Bool) async throws {
    let (input, output) = (try await Ends.pipe(), try await Ends.pipe())
    // The copies share the open file, as those of a shell would.
    let copies = [try duplicate(input.read), try duplicate(output.write)]
    let transport = StdioTransport(streams: StandardStreams(input: input.read, output: output.write))
    let channel = try await transport.connect(to: LinkAddress("stdio:"), context: .test())
    #expect(copies.allSatisfy { fcntl($0, F_GETFL) & O_NONBLOCK != 0 })
    close(copies[1])
    if closesOutputFirst {
      try await channel.close(mode: .output).get()
      // No other descriptor of the writing end is open, so the reader sees the end.
      #expect(try await hasEnded(output.read))
    }
    try await channel.close().get()
    #expect(fcntl(copies[0], F_GETFL) & O_NONBLOCK == 0)
    #expect(try await hasEnded(output.read))
    close(copies[0])
    input.close()
    output.close()
  }

  @Test("if input and output are the same socket, ending the output leaves the input open")
  func oneSocket() async throws {
    var pair: [CInt] = [-1, -1]
    socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
    let input = pair[0]
    let output = try duplicate(input)
    let copy = try duplicate(input)
    let transport = StdioTransport(streams: StandardStreams(input: input, output: output))
    let channel = try await transport.connect(to: LinkAddress("stdio:"), context: .test())
    try await channel.close(mode: .output).get()
    #expect(try await hasEnded(pair[1]))
    write(pair[1], "answer", 6)
    #expect(try await channel.received(count: 6).text == "answer")
    try await channel.close().get()
    #expect(fcntl(copy, F_GETFL) & O_NONBLOCK == 0)
    for descriptor in [pair[1], input, output, copy] { close(descriptor) }
  }

  @Test("with line=, a terminal is a link, and is raw until the link closes")
  func terminal() async throws {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(terminal) }
    let (input, output) = (try duplicate(terminal), try duplicate(terminal))
    let transport = StdioTransport(streams: StandardStreams(input: input, output: output))
    #expect(isCanonical(terminal))
    let channel = try await transport.connect(to: LinkAddress("stdio:?line=115200"), context: .test())
    #expect(!isCanonical(terminal))
    try await channel.close().get()
    #expect(isCanonical(terminal))
    for descriptor in [input, output] { close(descriptor) }
  }

  private func isCanonical(_ terminal: CInt) -> Bool {
    var settings = termios()
    return tcgetattr(terminal, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON | ECHO) != 0
  }

  @Test(
    "the transport refuses a stdio: address with text after the colon, and linger= without line= or a number",
    arguments: ["stdio:x", "stdio:?linger=5", "stdio:?line=9600&linger=0", "stdio:?line=9600&linger=soon"])
  func check(_ address: String) {
    #expect(throws: BywayError.self) { try StdioTransport().check(LinkAddress(address)) }
  }

  private func failure(_ input: CInt, _ output: CInt) async -> String? {
    let transport = StdioTransport(streams: StandardStreams(input: input, output: output))
    return await bywayError { try await transport.connect(to: LinkAddress("stdio:"), context: .test()) }?.message
  }
}

// A descriptor that a child of another test inherited would keep its file open. So all of these are created with close-on-exec.

/// Waits without blocking a thread that other tests need.
private func hasEnded(_ descriptor: CInt) async throws -> Bool {
  var readiness = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  guard try await eventually({ poll(&readiness, 1, 0) == 1 }) else { return false }
  var byte: UInt8 = 0
  return read(descriptor, &byte, 1) == 0
}

private struct Ends {
  let read: CInt
  let write: CInt

  /// Creates a pipe through a FIFO, because Swift does not import pipe2(2), and with pipe(2) a child could inherit both ends
  /// for a moment.
  static func pipe() async throws -> Ends {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/pipe"
      guard mkfifo(path, 0o600) == 0 else { throw FixtureError("mkfifo") }
      let read = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      let write = open(path, O_WRONLY | O_CLOEXEC)
      guard read >= 0, write >= 0, fcntl(read, F_SETFL, 0) == 0 else { throw FixtureError("open") }
      return Ends(read: read, write: write)
    }
  }

  func close() {
    Glibc.close(read)
    Glibc.close(write)
  }
}
