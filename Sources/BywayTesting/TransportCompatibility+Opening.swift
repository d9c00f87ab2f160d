import Byway
import NIOCore

/// The checks of failures to open a link.
extension TransportCompatibility {
  func checkRefusal() async throws {
    guard let refusing else { return }
    try await expectUnavailable("connected without a listener") { try await connect(to: refusing).close(promise: nil) }
  }

  func checkDeadline() async throws {
    guard let silent else { return }
    let limit = TimeAmount.milliseconds(300)
    let start = NIODeadline.now()
    let (transport, context) = (transport, context(until: start + limit))
    try await expectUnavailable("connected where no peer answers") {
      try await within(limit + .seconds(3), "give up") {
        try await transport.connect(to: silent, context: context).close(promise: nil)
      }
    }
    let taken = NIODeadline.now() - start
    try expect(
      taken >= .milliseconds(100), "gave up after \(taken.nanoseconds / 1_000_000) ms, long before the deadline")
  }

  func checkEndOfListening() async throws {
    guard case .listener(let address) = farEnd else { return }
    var old: (near: LinkEnd, far: LinkEnd)?
    var closed: (listener: any Listener, channels: AsyncThrowingStream<any Channel, any Error>)?
    var dialedAddress: LinkAddress?
    try await withListener(address) { listener, dialed in
      let channels = listener.channels
      let near = try await LinkEnd.own(connect(to: dialed), limit: limit)
      let far = try await LinkEnd.own(accept(from: channels), limit: limit)
      old = (near, far)
      closed = (listener, channels)
      dialedAddress = dialed
    }
    guard let old, let closed, let dialedAddress else { return }
    defer {
      old.near.channel.close(promise: nil)
      old.far.channel.close(promise: nil)
    }
    let (listener, channels) = closed
    let further = try await within(limit, "end the channels of a closed listener") {
      var iterator = channels.makeAsyncIterator()
      return try await iterator.next()
    }
    try expect(further == nil, "gave a channel after its listener was closed")
    try await expectUnavailable("connected to a closed listener") {
      try await connect(to: dialedAddress).close(promise: nil)
    }
    try await old.near.write(Pattern(), count: 1_000)
    try await old.far.read(Pattern(), count: 1_000)
    if linksAtOnce == 1 {
      // The device of a line is in use for as long as its link is open.
      for end in [old.near, old.far] { try await end.close() }
    }
    // The address is free again.
    try await withListener({ listener.address }) { _, _ in }
  }

  func checkTakenAddress() async throws {
    guard case .listener(let address) = farEnd else { return }
    try await withListener(address) { listener, _ in
      try await expectUnavailable("listened twice on \(listener.address)") {
        try await withListener({ listener.address }) { _, _ in }
      }
    }
  }

  private func expectUnavailable(_ otherwise: String, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as BywayError {
      try expect(error.code == .linkUnavailable, "the error has code \(error.code) where linkUnavailable is expected")
      try expect(!error.message.isEmpty, "the error has no message")
      return
    }
    throw CompatibilityFailure(otherwise)
  }
}

extension EventLoopGroup {
  func contains(_ loop: any EventLoop) -> Bool {
    makeIterator().contains { $0 === loop }
  }
}
