import BywayLineLayer
import NIOCore
import NIOEmbedded
import TestTools
import Testing

@testable import Byway

/// The login on a channel, in virtual time.
@Suite struct ConsoleHandlerTests {
  private let log = LogRecord()

  private func console(_ name: String, _ options: String = "login=operator", limit: Int64 = 45) throws -> Console {
    try Console(LinkAddress("unix:/\(name)?\(options)"), limit: .seconds(limit), log)
  }

  @Test("a login sends the password that was typed, and then passes bytes in both directions")
  func login() throws {
    let console = try console("handler-login")
    ConsolePasswords.remember("open sesame", of: console.address, console.settings)
    #expect(try console.said() == "\u{15}\r")
    try console.show("\r\nbox login: ")
    #expect(try console.said() == "operator\r")
    try console.show("operator\r\nPassword: ")
    #expect(try console.said() == "open sesame\r")
    try console.show("\r\n$ ")
    try console.startGateway()
    #expect(console.isOpen == nil)
    try console.hear(ConsoleRig.hello)
    #expect(console.isOpen == true && console.owner.bytes == [])
    let reads = console.medium.reads
    // Nothing is passed, and nothing is lost, before the owner reads.
    try console.hear([1, 2])
    try console.hear([3])
    #expect(console.owner.bytes == [] && console.owner.completions == 0)
    console.channel.read()
    #expect(console.owner.bytes == [1, 2, 3] && console.owner.completions == 1 && console.medium.reads == reads + 1)
    try console.hear([4])
    #expect(console.owner.bytes == [1, 2, 3, 4] && console.owner.completions == 2)
    console.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(console.owner.hasInputEnded && console.channel.isActive)
    _ = try console.said()
    try console.channel.writeAndFlush(ByteBuffer(string: "up")).wait()
    #expect(try console.said() == "up")
    // No timer of the login is left.
    console.channel.embeddedEventLoop.advanceTime(by: .seconds(100))
    #expect(console.channel.isActive && log.entries.isEmpty)
  }

  @Test("the bytes behind the mark of a shell reach its owner first")
  func commands() throws {
    let console = try Console(
      LinkAddress("exec:handler-commands?shell=sh"), goal: .commands, limit: .seconds(45), log)
    try console.startGateway(andThen: "first")
    #expect(console.isOpen == true)
    try console.hear(Array(" second".utf8))
    console.channel.read()
    #expect(console.owner.bytes == Array("first second".utf8))
  }

  @Test("a console closes when its gateway has ended, also if the mark is in held bytes", arguments: [true, false])
  func endOfGateway(_ isHeld: Bool) throws {
    let console = try console("handler-end-\(isHeld)", "shell=byway gateway")
    try console.show("\r\n$ ")
    try console.startGateway()
    try console.hear(ConsoleRig.hello)
    if !isHeld { console.channel.read() }
    let mark = Array("BYWAY-E-\(console.mark)-".utf8)
    try console.hear(mark.dropLast(3))
    #expect(console.channel.isActive && log.entries.isEmpty)
    if console.channel.isActive { try console.hear(mark.suffix(3)) }
    if isHeld { console.channel.read() }
    #expect(!console.channel.isActive)
    #expect(log.all == ["notice The gateway behind the console has ended link=\(console.address)"])
  }

  @Test("a login without a known password fails with the name of its variable, and closes the channel")
  func noPassword() throws {
    let console = try console("handler-none", "login=operator&login-password=env:BYWAY_NO_SUCH_VARIABLE")
    try console.show("\r\nbox login: ")
    try console.show("operator\r\nPassword: ")
    #expect(
      console.error?.message
        == "The console at unix:/handler-none asks for the password of operator: set BYWAY_NO_SUCH_VARIABLE.")
    #expect(console.error?.code == .linkUnavailable && console.error?.processing == BywayError.Processing.none)
    #expect(console.error?.evidence as? ConsoleFailure == .passwordNeeded)
    #expect(!console.channel.isActive)
  }

  @Test("a login that was refused twice is noted for a minute, and its message hides the password")
  func refused() throws {
    let console = try console("handler-refused")
    ConsolePasswords.remember("hunter2", of: console.address, console.settings)
    try console.show("\r\nbox login: ")
    for _ in 0..<2 {
      try console.show("operator\r\nPassword: ")
      try console.show("\r\nhunter2 is wrong\r\nbox login: ")
    }
    #expect(console.error?.message.contains("was refused twice") == true && !console.channel.isActive)
    #expect(console.error?.message.contains("hunter2") == false)
    let now = console.channel.embeddedEventLoop.now
    for (seconds, isRefused) in [(59, true), (60, false)] as [(Int64, Bool)] {
      let refusal = ConsolePasswords.refusal(of: console.address, console.settings, at: now + .seconds(seconds))
      #expect(refusal == (isRefused ? .refused(words: nil) : nil))
    }
  }

  @Test("other failures of a login are not noted")
  func notNoted() throws {
    let console = try console("handler-closed")
    try console.hear(Array("No route to host\r\n".utf8))
    console.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(console.error?.message.contains("was closed during the login: \"No route to host\"") == true)
    #expect(!console.channel.isActive && !console.owner.hasInputEnded)
    #expect(
      ConsolePasswords.refusal(of: console.address, console.settings, at: console.channel.embeddedEventLoop.now) == nil)
  }

  @Test("a login fails at its deadline")
  func deadline() throws {
    let console = try console("handler-late", limit: 5)
    console.channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_999))
    #expect(console.isOpen == nil)
    console.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(console.error?.message.contains("says nothing") == true && !console.channel.isActive)
  }

  @Test("an error of the medium during the login is that of the link, and later that of its owner")
  func errors() throws {
    let failed = try console("handler-error")
    failed.channel.pipeline.fireErrorCaught(BywayError(.linkUnavailable, "The program has ended."))
    #expect(failed.error?.message == "The program has ended." && !failed.channel.isActive)
    let other = try console("handler-other")
    other.channel.pipeline.fireErrorCaught(FixtureError.any)
    #expect(other.error?.message == "The console at unix:/handler-other?login=operator failed.")
    let open = try console("handler-open", "shell=byway gateway")
    try open.show("\r\n$ ")
    try open.startGateway()
    try open.hear(ConsoleRig.hello)
    open.channel.pipeline.fireErrorCaught(FixtureError.any)
    #expect(open.owner.errors == 1 && open.channel.isActive)
  }

  @Test("a channel that is lost during the login fails it")
  func lost() throws {
    let console = try console("handler-lost")
    console.channel.close(promise: nil)
    console.channel.embeddedEventLoop.run()
    #expect(console.error?.message.contains("was closed during the login") == true)
  }
}

private enum FixtureError: Error { case any }

/// A channel with a login, and the test as the console behind it.
private final class Console {
  let channel = EmbeddedChannel()
  let medium = Medium()
  let owner = Owner()
  let address: LinkAddress
  let settings: ConsoleSettings
  private(set) var isOpen: Bool?
  private(set) var error: BywayError?
  private(set) var mark = ""

  init(_ address: LinkAddress, goal: ConsoleLogin.Goal = .gateway, limit: TimeAmount, _ log: LogRecord) throws {
    self.address = address
    settings = try ConsoleRig.settings(address.text)
    try channel.connect(to: SocketAddress(unixDomainSocketPath: "/console")).wait()
    let opened = channel.eventLoop.makePromise(of: Void.self)
    opened.futureResult.assumeIsolated().whenComplete { result in
      switch result {
      case .success: self.isOpen = true
      case .failure(let error):
        self.isOpen = false
        self.error = error as? BywayError
      }
    }
    let now = channel.embeddedEventLoop.now
    try channel.pipeline.syncOperations.addHandlers([
      medium,
      ConsoleHandler(
        settings, goal: goal, address: address, deadline: now + limit, logger: log.logger, opened: opened, at: now),
      owner,
    ])
  }

  func said() throws -> String {
    var text = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  func hear(_ bytes: some Sequence<UInt8>) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

  /// The console prints, and is silent for as long as a prompt takes to be seen.
  func show(_ text: String) throws {
    try hear(Array(text.utf8))
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(301))
  }

  /// Answers as a shell with the marks that it was sent.
  func startGateway(andThen rest: String = "") throws {
    let typed = try said()
    let start = try #require(typed.firstRange(of: "WAY-S-")?.upperBound)
    mark = String(typed[start...].prefix(8))
    try hear(Array("BYWAY-S-\(mark)-\r\n".utf8))
    try hear(Array("BYWAY-B-\(mark)-\r\n\(rest)".utf8))
  }

  /// Counts the reads that the medium is asked for.
  final class Medium: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var reads = 0

    func read(context: ChannelHandlerContext) {
      reads += 1
      context.read()
    }
  }

  final class Owner: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var bytes: [UInt8] = []
    private(set) var completions = 0
    private(set) var errors = 0
    private(set) var hasInputEnded = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { bytes += unwrapInboundIn(data).readableBytesView }

    func channelReadComplete(context: ChannelHandlerContext) { completions += 1 }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { errors += 1 }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case ChannelEvent.inputClosed? = event as? ChannelEvent { hasInputEnded = true }
    }
  }
}
