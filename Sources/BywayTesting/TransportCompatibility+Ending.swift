import Byway
import BywayPrimitives
import NIOCore

/// The checks of a link's end.
extension TransportCompatibility {
  /// Checks that the end of its input reaches the echo, which must then end too.
  func checkEndOfSending() async throws {
    try await withEchoLink { near in
      try await near.write(Pattern(), count: 10_000)
      try await near.end()
      try await near.read(Pattern(), count: 10_000)
      try await near.readEnd()
    }
  }

  func checkAnswerAfterEnd() async throws {
    try await withPair { near, far in
      try await near.end()
      try await far.readEnd()
      try await sendToTheEnd(from: far, to: near, seed: 1)
    }
    try await withPair { near, far in
      try await far.end()
      try await near.readEnd()
      try await sendToTheEnd(from: near, to: far, seed: 2)
    }
  }

  private func sendToTheEnd(from sender: LinkEnd, to receiver: LinkEnd, seed: Int) async throws {
    async let sent: Void = sender.write(Pattern(seed: seed), count: 1_000_000)
    try await receiver.read(Pattern(seed: seed), count: 1_000_000)
    try await sent
    try await sender.end()
    try await receiver.readEnd()
  }

  func checkDeath() async throws {
    switch farEnd {
    case .listener:
      try await withPair { near, far in
        // Unread bytes make the remote end's close a reset, if the medium has one.
        try await near.write(Pattern(), count: 10_000)
        far.channel.close(promise: nil)
        try await expectAnEnd(of: near)
      }
    case .echo:
      guard let dying else { return }
      let near = try await LinkEnd.own(connect(to: dying), limit: limit)
      try await near.write(Pattern(), count: 1)
      try await expectAnEnd(of: near)
      try await near.close()
    }
  }

  /// Accepts any end, including an error; its time limit is checked in the wait.
  private func expectAnEnd(of near: LinkEnd) async throws {
    do {
      while try await near.next() != nil {}
    } catch let error as CompatibilityFailure {
      throw error
    } catch {}
  }

  func checkRelease() async throws {
    try await withEcho { address in
      try await openAndClose(address)
      // Other tests of the process open and close descriptors too, but only a leak shows in every round.
      var growth: [Int] = []
      for _ in 0..<5 {
        let before = openDescriptors()
        for _ in 0..<100 { try await openAndClose(address) }
        growth.append(openDescriptors() - before)
        if growth.contains(where: { $0 < 50 }) { return }
      }
      throw CompatibilityFailure("kept descriptors: 100 links, opened and closed, left \(growth) more each time")
    }
  }

  private func openAndClose(_ address: LinkAddress) async throws {
    let near = try await LinkEnd.own(connect(to: address), limit: limit)
    try await near.write(Pattern(), count: 1)
    try await near.read(Pattern(), count: 1)
    try await near.close()
  }

  private func openDescriptors() -> Int {
    ((try? Folder.names(in: "/proc/self/fd")) ?? []).count
  }
}
