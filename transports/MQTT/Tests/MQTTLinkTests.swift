import Byway
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import MQTTTransport

@Suite("Links over an MQTT broker", .timeLimit(.minutes(1))) struct MQTTLinkTests {
  private let folder: TemporaryFolder
  private let transport = MQTTTransport()

  init() throws { folder = try TemporaryFolder() }

  /// Another client of the broker, which may publish anything.
  private final class Publisher: Sendable {
    let broker: BrokerConnection
    let messages: AsyncStream<BrokerMessage>

    init(_ target: MQTTTarget) async throws {
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let (messages, continuation) = AsyncStream.makeStream(of: BrokerMessage.self)
      self.messages = messages
      broker = BrokerConnection(on: loop, received: { continuation.yield($0) }, ended: { _ in continuation.finish() })
      let (broker, settings) = (broker, try target.settings(clientID: "publisher-\(UInt32.random(in: 0 ... .max))"))
      try await loop.flatSubmit { broker.open(settings, by: .now() + .seconds(10)) }.get()
    }

    /// Publishes a message, and returns when the broker has it.
    func publish(_ bytes: [UInt8], to topic: String, isRetained: Bool = false) async throws {
      let broker = broker
      try await broker.eventLoop.flatSubmit {
        broker.publish(ByteBuffer(bytes: bytes), to: topic, .acknowledged(isRetained: isRetained))
      }.get()
    }

    func subscribe(to topic: String) async throws {
      let broker = broker
      try await broker.eventLoop.flatSubmit { broker.subscribe(to: topic, takesRetained: true) }.get()
    }

    func close() {
      let broker = broker
      broker.eventLoop.execute { broker.close() }
    }
  }

  private func address(_ broker: MosquittoServer, _ topic: String = "byway/sensor1") throws -> LinkAddress {
    try LinkAddress("mqtt://127.0.0.1:\(broker.port)/\(topic)")
  }

  /// Starts a broker, and a gateway that listens there.
  private func gateway() async throws -> (broker: MosquittoServer, address: LinkAddress, listener: any Listener) {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    return (broker, address, try await transport.listen(on: address, context: .test()))
  }

  /// Returns both ends of a link.
  private func link(_ listener: any Listener, _ address: LinkAddress) async throws -> (any Channel, any Channel) {
    async let accepted = nextChannel(of: listener)
    let dialed = try await transport.connect(to: address, context: .test())
    return (dialed, try #require(try await accepted))
  }

  /// Closes both ends, because a normal end needs both.
  private func close(_ one: any Channel, _ other: any Channel) {
    one.close(promise: nil)
    other.close(promise: nil)
  }

  /// Sends a text over a link, and checks that it arrives.
  private func pass(_ text: String, from one: any Channel, to other: any Channel) async throws {
    let arrived = try await other.receiving(count: text.utf8.count)
    try await one.writeAndFlush(ByteBuffer(string: text)).get()
    #expect(try await arrived.get().text == text)
  }

  @Test("a gateway announces itself by a retained message, and clears it when it closes")
  func announcement() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let target = try MQTTTarget(address)
    let watcher = try await Publisher(target)
    try await watcher.subscribe(to: target.topics.gateway)
    let listener = try await transport.listen(on: address, context: .test())
    var messages = watcher.messages.makeAsyncIterator()
    guard case .present? = await messages.next().map({ Presence($0.payload) }) else {
      Issue.record("no announcement")
      return
    }
    let late = try await Publisher(target)
    try await late.subscribe(to: target.topics.gateway)
    var kept = late.messages.makeAsyncIterator()
    #expect(await kept.next()?.isRetained == true)
    await listener.close()
    #expect(await messages.next()?.payload == [])
    watcher.close()
    late.close()
    await broker.stop()
  }

  @Test("two gateways do not share a topic, and an announcement without a gateway is replaced")
  func occupied() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let publisher = try await Publisher(try MQTTTarget(address))
    try await publisher.publish(
      Presence.present(.random()).payload, to: MQTTTarget(address).topics.gateway, isRetained: true)
    let listener = try await transport.listen(on: address, context: .test())
    let second = await bywayError { try await transport.listen(on: address, context: .test()) }
    #expect(second?.diagnosis?.fault == .inUse && second?.message.contains("Another gateway is at the topic") == true)
    let (dialed, accepted) = try await link(listener, address)
    try await pass("hello", from: dialed, to: accepted)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("a gateway that starts before its broker waits, says why, and serves when the broker is there")
  func early() async throws {
    let earlier = try await MosquittoServer(in: folder)
    let address = try address(earlier)
    await earlier.stop()
    let listener = try await transport.listen(on: address, context: .test())
    #expect(try await eventually { listener.unavailableReason?.contains("Nothing listens") == true })
    let broker = try await earlier.successor()
    #expect(try await eventually { listener.unavailableReason == nil })
    let (dialed, accepted) = try await link(listener, address)
    try await pass("hello", from: dialed, to: accepted)
    close(dialed, accepted)
    await listener.close()
    await broker.stop()
  }

  @Test("a gateway that is stopped before its broker is there does not try again")
  func earlyStop() async throws {
    let earlier = try await MosquittoServer(in: folder)
    let address = try address(earlier)
    await earlier.stop()
    let listener = try await transport.listen(on: address, context: .test())
    await listener.close()
    let broker = try await earlier.successor()
    let watcher = try await Publisher(try MQTTTarget(address))
    try await watcher.subscribe(to: MQTTTarget(address).topics.gateway)
    let error = await bywayError { try await transport.connect(to: address, context: .test(limit: .seconds(3))) }
    #expect(error?.diagnosis?.fault == .noGateway, "\(String(describing: error))")
    watcher.close()
    await broker.stop()
  }

  @Test("a gateway that is being stopped finishes its sessions and accepts no others")
  func leaving() async throws {
    let (broker, address, listener) = try await gateway()
    let topics = try MQTTTarget(address).topics
    let (dialed, accepted) = try await link(listener, address)
    let watcher = try await Publisher(try MQTTTarget(address))
    try await watcher.subscribe(to: topics.gateway)
    var messages = watcher.messages.makeAsyncIterator()
    guard case .present(let run)? = await messages.next().map({ Presence($0.payload) }) else {
      Issue.record("no announcement")
      return
    }
    await listener.close()
    #expect(await messages.next()?.payload == Presence.leaving(run).payload)
    let refused = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(refused?.diagnosis?.fault == .noGateway)
    try await pass("still here", from: dialed, to: accepted)
    close(dialed, accepted)
    #expect(await messages.next()?.payload == [])
    watcher.close()
    await broker.stop()
  }

  @Test("many users share a gateway, each with a session of its own")
  func users() async throws {
    let (broker, address, listener) = try await gateway()
    var links: [(any Channel, any Channel)] = []
    for _ in 0..<5 { links.append(try await link(listener, address)) }
    for (number, (dialed, accepted)) in links.enumerated() {
      try await pass("up \(number)", from: dialed, to: accepted)
      try await pass("down \(number)", from: accepted, to: dialed)
    }
    for (dialed, accepted) in links { close(dialed, accepted) }
    await listener.close()
    await broker.stop()
  }

  @Test("a link survives that its broker is killed and started again")
  func restart() async throws {
    let (broker, address, listener) = try await gateway()
    let (dialed, accepted) = try await link(listener, address)
    try await pass("before", from: dialed, to: accepted)
    let arrived = try await accepted.receiving(count: 1 << 20, limit: .seconds(30))
    let written = dialed.eventLoop.makePromise(of: Void.self)
    dialed.writeAndFlush(ByteBuffer(repeating: 7, count: 1 << 20), promise: written)
    await broker.kill()
    let successor = try await broker.successor()
    try await written.futureResult.get()
    #expect(try await arrived.get().bytes.readableBytes == 1 << 20)
    close(dialed, accepted)
    await listener.close()
    await successor.stop()
  }

  @Test("a gateway that was replaced ends the sessions of its users at once")
  func replaced() async throws {
    let (broker, address, listener) = try await gateway()
    let (dialed, accepted) = try await link(listener, address)
    let ended = try await dialed.receiving(limit: .seconds(20))
    let publisher = try await Publisher(try MQTTTarget(address))
    try await publisher.publish(
      Presence.present(.random()).payload, to: MQTTTarget(address).topics.gateway, isRetained: true)
    let error = try await ended.get().error as? BywayError
    #expect(error?.code == .linkLost && error?.message.contains("was restarted") == true)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("a gateway repeats an announcement that another program has cleared, and its users stay")
  func cleared() async throws {
    let (broker, address, listener) = try await gateway()
    let topics = try MQTTTarget(address).topics
    let (dialed, accepted) = try await link(listener, address)
    let publisher = try await Publisher(try MQTTTarget(address))
    try await publisher.subscribe(to: topics.gateway)
    var messages = publisher.messages.makeAsyncIterator()
    let first = await messages.next()?.payload
    for text in ["", "garbage"] {
      try await publisher.publish(Array(text.utf8), to: topics.gateway, isRetained: true)
      #expect(await messages.next()?.payload == Array(text.utf8))
      #expect(await messages.next()?.payload == first)
    }
    try await pass("still here", from: dialed, to: accepted)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("a session whose gateway has left the broker ends when the gateway does not come back")
  func left() async throws {
    let (broker, address, listener) = try await gateway()
    let topics = try MQTTTarget(address).topics
    let (dialed, accepted) = try await link(listener, address)
    let publisher = try await Publisher(try MQTTTarget(address))
    // The gateway would repeat an announcement that was cleared, but not while it is being stopped.
    await listener.close()
    let ended = try await dialed.receiving(limit: .seconds(20))
    let start = ContinuousClock.now
    try await publisher.publish([], to: topics.gateway, isRetained: true)
    let error = try await ended.get().error as? BywayError
    #expect(error?.code == .linkLost && error?.message.contains("has left the broker") == true, "\(error as Any)")
    #expect(start.duration(to: .now) >= .milliseconds(2500))
    close(dialed, accepted)
    publisher.close()
    await broker.stop()
  }

  @Test("a gateway warns of another one at its topic, once for several announcements")
  func rival() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let topics = try MQTTTarget(address).topics
    let log = LogRecord()
    let listener = try await transport.listen(on: address, context: .test(logger: log.logger))
    let publisher = try await Publisher(try MQTTTarget(address))
    for _ in 0..<3 { try await publisher.publish(Presence.present(.random()).payload, to: topics.gateway) }
    #expect(try await eventually { log.all.contains { $0.contains("Another gateway announces itself") } })
    try await publisher.subscribe(to: topics.gateway)
    // The announcement of the gateway itself is still the one that the broker keeps.
    var messages = publisher.messages.makeAsyncIterator()
    guard case .present? = await messages.next().map({ Presence($0.payload) }) else {
      Issue.record("no announcement")
      return
    }
    let warnings = log.all.filter { $0.hasPrefix("warning") }
    #expect(warnings.count == 1 && warnings.first?.hasSuffix("times=1") == true, "\(warnings)")
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("a session ends when the broker comes back without its gateway")
  func backWithoutGateway() async throws {
    let passwords = try folder.write("", to: "passwords")
    let made = try await Program.mosquittoPassword.run(["-b", passwords, "user", "two"])
    #expect(made.exitCode == 0)
    let file = try folder.write("two\n", to: "password")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let broker = try await MosquittoServer(in: folder, "allow_anonymous true\npassword_file \(passwords)")
    let listener = try await transport.listen(on: address(broker), context: .test())
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let target = try MQTTTarget(LinkAddress("mqtt://user@127.0.0.1:\(broker.port)/byway/sensor1?password=\(file)"))
    let session = try MQTTClientSession(target, on: loop, context: .test())
    try await loop.submit { session.returnLimit = .milliseconds(500) }.get()
    async let next = nextChannel(of: listener)
    try await loop.flatSubmit { session.reach(by: .now() + .seconds(10)) }.get()
    let dialed = try await loop.flatSubmit { session.open(by: .now() + .seconds(10)) }.get()
    let accepted = try #require(try await next)
    let ended = try await dialed.receiving(limit: .seconds(20))
    await broker.kill()
    // The next broker refuses the gateway, which has no login.
    let configuration = "mosquitto-\(broker.port).conf"
    let text = try String(contentsOfFile: folder[configuration], encoding: .utf8)
    try folder.write(text.replacing("allow_anonymous true", with: "allow_anonymous false"), to: configuration)
    let successor = try await broker.successor()
    let error = try await ended.get().error as? BywayError
    #expect(error?.code == .linkLost && error?.message.contains("has left the broker") == true, "\(error as Any)")
    close(dialed, accepted)
    await listener.close()
    await successor.stop()
  }

  @Test("a gateway that has reached its broker again begins with short pauses after the next loss")
  func pauses() async throws {
    let earlier = try await MosquittoServer(in: folder)
    let address = try address(earlier)
    await earlier.stop()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let listener = try GatewayListener(try MQTTTarget(address), on: loop, context: .test())
    try await loop.submit { listener.wait(for: BywayError(.linkUnavailable, "It is not there.")) }.get()
    #expect(try await eventually { try await loop.submit { listener.pause != ReconnectPause() }.get() })
    let broker = try await earlier.successor()
    #expect(try await eventually { listener.unavailableReason == nil })
    #expect(try await loop.submit { listener.pause == ReconnectPause() }.get())
    try await loop.flatSubmit { listener.close() }.get()
    await broker.stop()
  }

  @Test("more messages than a slow owner may leave unread arrive when it goes on")
  func unread() async throws {
    let broker = try await MosquittoServer(in: folder, "allow_anonymous true\nmax_queued_messages 0")
    let target = try MQTTTarget(address(broker))
    let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let received = Mutex(0)
    let reader = BrokerConnection(
      on: loop.next(), received: { message in received.withLock { $0 += message.payload.count } }, ended: { _ in })
    let settings = try target.settings(clientID: "reader")
    try await loop.next().flatSubmit { reader.open(settings, by: .now() + .seconds(10)) }.get()
    try await loop.next().flatSubmit { reader.subscribe(to: "flood", takesRetained: false) }.get()
    let thread = try #require(try await loop.next().submit { reader.client as? BrokerThread }.get())
    // The event loop of the reader stands still while the messages are sent.
    let gate = DispatchSemaphore(value: 0)
    loop.next().execute { gate.wait() }
    let publisher = try await Publisher(target)
    for _ in 0..<60 { try await publisher.publish([UInt8](repeating: 7, count: 50_000), to: "flood") }
    #expect(try await eventually { thread.unreadCost > 1 << 20 })
    // One message above the limit, and what the library has read with it.
    #expect(try await !eventually(within: .milliseconds(300)) { thread.unreadCost > 3 << 19 })
    gate.signal()
    #expect(try await eventually { received.withLock(\.self) == 3_000_000 && thread.unreadCost == 0 })
    loop.next().execute { reader.close() }
    publisher.close()
    await broker.stop()
    try await loop.shutdownGracefully()
  }

  @Test("the error of a topic without a gateway says so, or that another program uses the topic")
  func noGateway() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let absent = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(absent?.code == .linkUnavailable && absent?.diagnosis?.fault == .noGateway)
    #expect(absent?.message.contains("No gateway announces itself at the topic byway/sensor1") == true)
    let publisher = try await Publisher(try MQTTTarget(address))
    try await publisher.publish([1, 2, 3], to: MQTTTarget(address).topics.gateway, isRetained: true)
    let foreign = await bywayError { try await transport.connect(to: address, context: .test()) }
    #expect(foreign?.message.contains("is from another program") == true)
    let listener = try await transport.listen(on: address, context: .test())
    let (dialed, accepted) = try await link(listener, address)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("garbage, retained garbage and messages beyond the limit on a session's topics do no harm")
  func hostile() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let topics = try MQTTTarget(address).topics
    let publisher = try await Publisher(try MQTTTarget(address))
    try await publisher.publish([9, 9, 9], to: topics.up(.random()), isRetained: true)
    try await publisher.subscribe(to: topics.anyUp)
    let listener = try await transport.listen(on: address, context: .test())
    let (dialed, accepted) = try await link(listener, address)
    try await pass("before", from: dialed, to: accepted)
    var messages = publisher.messages.makeAsyncIterator()
    var session: SessionName?
    while let message = await messages.next(), session == nil {
      if !message.isRetained { session = topics.session(ofUp: message.topic) }
    }
    let name = try #require(session)
    let noise = (0..<2000).map { _ in UInt8.random(in: 0 ... .max) }
    for topic in [topics.up(name), topics.down(name)] {
      try await publisher.publish(noise, to: topic)
      try await publisher.publish(noise, to: topic, isRetained: true)
      try await publisher.publish([], to: topic)
      try await publisher.publish([UInt8](repeating: 0, count: 1 << 20), to: topic)
    }
    try await pass("after", from: dialed, to: accepted)
    try await pass("and back", from: accepted, to: dialed)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("empty messages, and long topics that fit the gateway's subscription, do no harm")
  func emptyMessages() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let base = try MQTTTarget(address).topics.base
    let publisher = try await Publisher(try MQTTTarget(address))
    let listener = try await transport.listen(on: address, context: .test())
    for length in [1, 32, 60_000] {
      let name = String(repeating: "a", count: length)
      for _ in 0..<20 { try await publisher.publish([], to: "\(base)/s/\(name)/up") }
    }
    let (dialed, accepted) = try await link(listener, address)
    try await pass("still here", from: dialed, to: accepted)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("a user name that MQTT does not allow is refused instead of left out")
  func controlCharacters() async throws {
    let broker = try await MosquittoServer(in: folder)
    let file = try folder.write("secret\n", to: "password")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let user = try LinkAddress("mqtt://us%01er@127.0.0.1:\(broker.port)/byway/sensor1?password=\(file)")
    let error = await bywayError { try await transport.listen(on: user, context: .test()) }
    #expect(error != nil)
    await broker.stop()
  }

  @Test("a flood of openings leaves a gateway usable")
  func flood() async throws {
    let (broker, address, listener) = try await gateway()
    let topics = try MQTTTarget(address).topics
    let publisher = try await Publisher(try MQTTTarget(address))
    for _ in 0..<500 { try await publisher.publish([1, 2, 3], to: topics.up(.random())) }
    // A user repeats its opening until there is room.
    let (dialed, accepted) = try await link(listener, address)
    try await pass("up", from: dialed, to: accepted)
    close(dialed, accepted)
    publisher.close()
    await listener.close()
    await broker.stop()
  }

  @Test("a gateway accepts no more sessions than its limit of connections")
  func limit() async throws {
    let broker = try await MosquittoServer(in: folder)
    let address = try address(broker)
    let log = LogRecord()
    var context = LinkContext.test(logger: log.logger)
    context.connections = ConnectionLimit(1)
    let listener = try await transport.listen(on: address, context: context)
    let (first, accepted) = try await link(listener, address)
    let refused = await bywayError { try await transport.connect(to: address, context: .test(limit: .seconds(2))) }
    #expect(refused?.message.contains("does not answer") == true && refused?.message.contains("has room") == true)
    // The user repeats its opening, and the log does not.
    let refusals = log.all.filter { $0.contains("A session was refused") }
    #expect(
      refusals.count == 1 && refusals.first?.hasSuffix("reason=the limit of connections is reached times=1") == true)
    try await pass("first", from: first, to: accepted)
    close(first, accepted)
    let (second, other) = try await link(listener, address)
    close(second, other)
    await listener.close()
    await broker.stop()
  }

  @Test("a small limit of the broker's packets makes messages small")
  func smallPackets() async throws {
    let broker = try await MosquittoServer(in: folder, "allow_anonymous true\nmax_packet_size 2000")
    let address = try address(broker)
    let listener = try await transport.listen(on: address, context: .test())
    let (dialed, accepted) = try await link(listener, address)
    let text = String(repeating: "0123456789", count: 10_000)
    try await pass(text, from: dialed, to: accepted)
    try await pass(text, from: accepted, to: dialed)
    close(dialed, accepted)
    await listener.close()
    await broker.stop()
  }

  @Test("a wrong password, a missing login and a forbidden topic are explained")
  func logins() async throws {
    let passwords = try folder.write("", to: "passwords")
    for (user, password) in [("gateway", "one"), ("user", "two"), ("other", "three")] {
      let made = try await Program.mosquittoPassword.run(["-b", passwords, user, password])
      #expect(made.exitCode == 0)
    }
    let access = try folder.write(
      """
      user gateway
      topic readwrite byway/#
      user user
      topic read byway/+/gateway
      topic write byway/+/s/+/up
      topic read byway/+/s/+/down

      """, to: "access")
    let broker = try await MosquittoServer(
      in: folder, "allow_anonymous false\npassword_file \(passwords)\nacl_file \(access)")
    func address(_ user: String, _ password: String) throws -> LinkAddress {
      let file = try folder.write("\(password)\n", to: "\(user)-\(password)")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
      return try LinkAddress("mqtt://\(user)@127.0.0.1:\(broker.port)/byway/sensor1?password=\(file)")
    }
    for refused in [
      try address("gateway", "wrong"), try LinkAddress("mqtt://127.0.0.1:\(broker.port)/byway/sensor1"),
    ] {
      let error = await bywayError { try await transport.listen(on: refused, context: .test()) }
      #expect(error?.message.contains("refuses the login") == true && error?.diagnosis?.fault == .loginRefused)
      #expect(error?.message.contains("wrong") == false)
    }
    let denied = await bywayError { try await transport.listen(on: address("user", "two"), context: .test()) }
    #expect(denied?.message.contains("does not let this end") == true)
    let listener = try await transport.listen(on: address("gateway", "one"), context: .test())
    let (dialed, accepted) = try await link(listener, address("user", "two"))
    try await pass("hello", from: dialed, to: accepted)
    let forbidden = await bywayError { try await transport.connect(to: address("other", "three"), context: .test()) }
    #expect(forbidden?.diagnosis?.fault == .loginRefused)
    #expect(forbidden?.message.contains("let this end write byway/sensor1/s/") == true)
    close(dialed, accepted)
    await listener.close()
    await broker.stop()
  }

  @Test("a password file that others can read, or that is missing, is refused")
  func passwordFiles() throws {
    let file = try folder.write("secret\n", to: "password")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    let exposed = #expect(throws: BywayError.self) { try PasswordSource(file).read(code: .unreadableFile) }
    #expect(exposed?.message.contains("secret") == false && exposed?.message.contains(file) == true)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(try PasswordSource(file).read(code: .unreadableFile) == "secret")
    #expect(throws: BywayError.self) { try PasswordSource(folder["missing"]).read(code: .unreadableFile) }
    #expect(throws: BywayError.self) { try PasswordSource("env:BYWAY_NO_SUCH").read(code: .unreadableFile) }
    let address = try LinkAddress("mqtt://me@127.0.0.1/a?password=\(folder["missing"])")
    let error = #expect(throws: BywayError.self) { try transport.check(address, for: .dial) }
    #expect(error?.code == .unreadableFile)
  }

  @Test("TLS with certificates of both ends carries a link, and an unknown authority is explained")
  func secure() async throws {
    let certificates = try await Certificates()
    let broker = try await MosquittoServer(
      in: folder, "allow_anonymous true\nper_listener_settings false", certificates: certificates)
    let port = try #require(broker.securePort)
    let secure = MQTTTransport(isSecure: true)
    let address = try LinkAddress(
      "mqtts://127.0.0.1:\(port)/byway/a?ca=\(certificates.authority)&\(certificates.client.options)")
    let listener = try await secure.listen(on: address, context: .test())
    async let next = nextChannel(of: listener)
    let dialed = try await secure.connect(to: address, context: .test())
    let accepted = try #require(try await next)
    try await pass("hello", from: dialed, to: accepted)
    let other = try await Certificates()
    let distrusted = try LinkAddress(
      "mqtts://127.0.0.1:\(port)/byway/a?ca=\(other.authority)&\(certificates.client.options)")
    let error = await bywayError { try await secure.connect(to: distrusted, context: .test()) }
    #expect(error?.diagnosis?.fault == .handshakeFailed && error?.message.contains("check ca=") == true)
    #expect(error?.message.contains("certificate verify failed") == true, "\(error as Any)")
    let plain = try LinkAddress("mqtts://127.0.0.1:\(broker.port)/byway/a?ca=\(certificates.authority)")
    let versions = await bywayError { try await secure.connect(to: plain, context: .test()) }
    // OpenSSL's words depend on how the broker ends the connection.
    let words = ["unexpected eof", "wrong version number"]
    #expect(
      versions?.diagnosis?.fault == .handshakeFailed && words.contains { versions?.message.contains($0) == true },
      "\(versions as Any)")
    let text = try folder.write("no certificate\n", to: "text")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: text)
    for (options, words) in [("ca=\(text)", "CA"), ("cert=\(text)&key=\(text)", "client certificate")] {
      let unusable = try LinkAddress("mqtts://127.0.0.1:\(port)/byway/a?\(options)")
      let error = await bywayError { try await secure.connect(to: unusable, context: .test()) }
      #expect(
        error?.diagnosis?.fault == .handshakeFailed && error?.message.contains(words) == true, "\(error as Any)")
    }
    let bare = try LinkAddress("mqtts://127.0.0.1:\(port)/byway/a?ca=\(certificates.authority)")
    #expect(await bywayError { try await secure.connect(to: bare, context: .test()) }?.code == .linkUnavailable)
    close(dialed, accepted)
    await listener.close()
    await broker.stop()
  }

  @Test("errors say that nothing listens, that the port is not a broker's, or that the library is missing")
  func noBroker() async throws {
    let unused = try UnusedPort()
    let refused = await bywayError {
      try await transport.connect(to: LinkAddress("mqtt://127.0.0.1:\(unused.port)/a"), context: .test())
    }
    #expect(refused?.message.contains("start the MQTT broker there") == true)
    let silent = try await OriginServer()
    let foreign = await bywayError {
      try await transport.connect(
        to: LinkAddress("mqtt://\(silent.endpoint)/a"), context: .test(limit: .seconds(2)))
    }
    #expect(foreign?.code == .linkUnavailable)
    await silent.stop()
    let missing = #expect(throws: BywayError.self) { _ = try MosquittoLibrary("libno-such-library.so.1") }
    #expect(missing?.message.contains("apt install libmosquitto1") == true)
    withExtendedLifetime(unused) {}
  }

  @Test("a hundred devices share a broker")
  func devices() async throws {
    let broker = try await MosquittoServer(in: folder)
    let transport = transport
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for number in 0..<100 {
        let address = try address(broker, "byway/device\(number)")
        tasks.addTask {
          let listener = try await transport.listen(on: address, context: .test(limit: .seconds(30)))
          async let next = nextChannel(of: listener)
          let dialed = try await transport.connect(to: address, context: .test(limit: .seconds(30)))
          let accepted = try #require(try await next)
          try await pass("device \(number)", from: dialed, to: accepted)
          close(dialed, accepted)
          await listener.close()
        }
      }
      try await tasks.waitForAll()
    }
    await broker.stop()
  }
}
