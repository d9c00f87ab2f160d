import Byway
import Logging
import NIOCore

/// The links for the checks.
extension TransportCompatibility {
  /// The limit of a step for channels.
  var limit: TimeAmount { TimeAmount(stepLimit) }

  var context: LinkContext { context(until: .now() + limit) }

  func context(until deadline: NIODeadline) -> LinkContext {
    LinkContext(
      group: group, logger: Logger(label: "byway.testing", factory: { _ in SwiftLogNoOpLogHandler() }),
      deadline: deadline)
  }

  func connect(to address: LinkAddress) async throws -> any Channel {
    let (transport, context) = (transport, context)
    return try await within(limit, "connect") { try await transport.connect(to: address, context: context) }
  }

  /// Listens while the body runs, and passes it the address to dial.
  func withListener(
    _ address: @Sendable () throws -> LinkAddress, _ body: (any Listener, LinkAddress) async throws -> Void
  ) async throws {
    let address = try address()
    let (transport, context) = (transport, context)
    let listener = try await within(limit, "listen") {
      try await transport.listen(on: address, context: context)
    }
    do {
      try await body(listener, dialed(listener.address))
    } catch {
      await listener.close()
      throw error
    }
    try await within(limit, "close its listener") { await listener.close() }
  }

  /// Returns the remote end of the next connection.
  func accept(from channels: AsyncThrowingStream<any Channel, any Error>) async throws -> any Channel {
    let channel = try await within(limit, "accept") {
      var iterator = channels.makeAsyncIterator()
      return try await iterator.next()
    }
    guard let channel else { throw CompatibilityFailure("ended its channels while it was listening") }
    return channel
  }

  /// Runs the body with both ends of a link, if the remote end is a listener.
  func withPair(_ body: (_ near: LinkEnd, _ far: LinkEnd) async throws -> Void) async throws {
    guard case .listener(let address) = farEnd else { return }
    try await withListener(address) { listener, dialed in
      let channels = listener.channels
      let near = try await LinkEnd.own(connect(to: dialed), limit: limit)
      do {
        let far = try await LinkEnd.own(accept(from: channels), limit: limit)
        do {
          try await body(near, far)
        } catch {
          far.channel.close(promise: nil)
          throw error
        }
        // A normal end may need both.
        near.channel.close(promise: nil)
        try await far.close()
      } catch {
        near.channel.close(promise: nil)
        throw error
      }
      try await near.close()
    }
  }

  /// Runs the body with an address whose remote end sends back its input.
  func withEcho(_ body: (LinkAddress) async throws -> Void) async throws {
    switch farEnd {
    case .echo(let address):
      try await body(address)
    case .listener(let address):
      try await withListener(address) { listener, dialed in
        let channels = listener.channels
        let server = Task {
          for try await channel in channels {
            channel.eventLoop.execute { try? channel.pipeline.syncOperations.addHandler(EchoHandler()) }
          }
        }
        defer { server.cancel() }
        try await body(dialed)
      }
    }
  }

  /// Runs the body with one link to an echo.
  func withEchoLink(_ body: (LinkEnd) async throws -> Void) async throws {
    try await withEcho { address in
      let near = try await LinkEnd.own(connect(to: address), limit: limit)
      do {
        try await body(near)
      } catch {
        near.channel.close(promise: nil)
        throw error
      }
      try await near.close()
    }
  }

  private func dialed(_ address: LinkAddress) throws -> LinkAddress {
    guard let dialOptions else { return address }
    let base = address.text.split(separator: "?", maxSplits: 1)[0]
    return try LinkAddress("\(base)?\(dialOptions)")
  }
}
