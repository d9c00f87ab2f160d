import Byway
import BywayTesting
import LoopbackTransport
import NIOCore
import NIOPosix
import Synchronization
import Testing

extension TransportMatrixTests {
  /// The kit must find every fault. Not in parallel with the matrix, which counts descriptors.
  @Suite(.serialized) struct CompatibilityKitTests {
    @Test(
      "the compatibility kit detects each fault with its own check",
      arguments: [
        (Fault.readsByItself, TransportCompatibility.Check.opens),
        (.deafToHalfClose, .opens),
        (.corrupts, .exchanges),
        (.swallows, .keepsEarlyBytes),
        (.endsEverything, .answersAfterEnd),
        (.takesAll, .pushesBack),
        (.corrupts, .carriesBulk),
        (.hangs, .exchanges),
        (.leaks, .releases),
        (.namelessError, .refuses),
        (.hangs, .keepsDeadline),
      ])
    func finds(_ fault: Fault, _ check: TransportCompatibility.Check) async throws {
      let transport = FaultyTransport(fault: fault)
      var kit = TransportCompatibility(transport, farEnd: .listener { try LinkAddress("loopback:faulty") })
      kit.refusing = try LinkAddress("loopback:nobody")
      kit.silent = try LinkAddress("loopback:nobody")
      kit.bulkByteCount = 1 << 20
      kit.bufferedByteLimit = 4 << 20
      kit.stepLimit = .milliseconds(500)
      #expect(kit.checks.contains(check))
      await #expect(throws: CompatibilityFailure.self) { try await kit.run(check) }
      transport.cleanUp()
    }

    @Test("a failure of the compatibility kit contains the transport and the property")
    func message() async throws {
      let kit = TransportCompatibility(
        FaultyTransport(fault: .readsByItself), farEnd: .listener { try LinkAddress("loopback:faulty") })
      let failure = await #expect(throws: CompatibilityFailure.self) { try await kit.run(.opens) }
      #expect(
        failure?.description
          == "loopback: \"opens a channel as the contract describes it\": autoRead is on before there is an owner")
    }
  }
}

enum Fault: Sendable {
  case readsByItself, deafToHalfClose, corrupts, swallows, endsEverything, takesAll, hangs, leaks, namelessError
}

/// A loopback whose dialing side has one fault.
private struct FaultyTransport: Transport {
  let fault: Fault
  private let inner = LoopbackTransport(names: LoopbackNames())
  private let kept = Kept()

  var scheme: String { inner.scheme }
  var options: [LinkOption] { inner.options }

  func check(_ address: LinkAddress) throws { try inner.check(address) }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try await inner.listen(on: address, context: context)
  }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    if case .hangs = fault {
      // Ignores its cancellation as well.
      return try await withUnsafeThrowingContinuation { kept.callers.append($0) }
    }
    if case .namelessError = fault { throw ChannelError.eof }
    let channel = try await inner.connect(to: address, context: context)
    switch fault {
    case .readsByItself: try await channel.setOption(.autoRead, value: true).get()
    case .deafToHalfClose: try await channel.setOption(.allowRemoteHalfClosure, value: false).get()
    case .leaks: for _ in 0..<2 { kept.channels.append(try await loose()) }
    default:
      let fault = fault
      try await channel.eventLoop.submit {
        try channel.pipeline.syncOperations.addHandler(FaultHandler(fault), position: .first)
      }.get()
      if case .swallows = fault { channel.read() }
    }
    return channel
  }

  /// Opens a channel that holds a descriptor.
  private func loose() async throws -> any Channel {
    try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(host: "127.0.0.1", port: 0).get()
  }

  func cleanUp() {
    for channel in kept.channels.take() { channel.close(promise: nil) }
    for caller in kept.callers.take() { caller.resume(throwing: CancellationError()) }
  }
}

private final class Kept: Sendable {
  let channels = Pile<any Channel>()
  let callers = Pile<UnsafeContinuation<any Channel, any Error>>()
}

private final class Pile<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  func append(_ element: Element) { elements.withLock { $0.append(element) } }

  func take() -> [Element] {
    elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
  }
}

private final class FaultHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let fault: Fault

  init(_ fault: Fault) {
    self.fault = fault
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var buffer = unwrapOutboundIn(data)
    switch fault {
    case .takesAll:
      promise?.succeed()
    case .corrupts where buffer.readableBytes > 1_000:
      if let byte = buffer.getInteger(at: buffer.readerIndex + 999, as: UInt8.self) {
        buffer.setInteger(byte ^ 0x10, at: buffer.readerIndex + 999)
      }
      context.write(wrapOutboundOut(buffer), promise: promise)
    default:
      context.write(data, promise: promise)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .swallows = fault { return }
    context.fireChannelRead(data)
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if case .endsEverything = fault { return context.close(mode: .all, promise: promise) }
    context.close(mode: mode, promise: promise)
  }
}
