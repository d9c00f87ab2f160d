import NIOCore

/// The checks of data transfer.
extension TransportCompatibility {
  func checkOpening() async throws {
    try await withEcho { address in
      try transport.check(address)
      let channel = try await connect(to: address)
      defer { channel.close(promise: nil) }
      try expect(channel.isActive, "the channel is not active")
      try expect(try await !channel.getOption(.autoRead).get(), "autoRead is on before there is an owner")
      try expect(
        try await channel.getOption(.allowRemoteHalfClosure).get(), "allowRemoteHalfClosure is off")
      try expect(group.contains(channel.eventLoop), "the channel lives outside the group of its context")
    }
  }

  func checkExchange() async throws {
    try await withEchoLink { near in
      var offset = 0
      for count in [1, 255, 4_096, 65_537, 1_048_577] {
        let start = offset
        async let sent: Void = near.write(Pattern(), from: start, count: count)
        try await near.read(Pattern(), from: start, count: count)
        try await sent
        offset += count
      }
    }
    try await withPair { near, far in
      async let backward: Void = far.write(Pattern(seed: 2), count: 300_000)
      async let forward: Void = near.write(Pattern(seed: 1), count: 300_000)
      async let arrived: Void = far.read(Pattern(seed: 1), count: 300_000)
      try await near.read(Pattern(seed: 2), count: 300_000)
      _ = try await (backward, forward, arrived)
    }
  }

  func checkSingleBytes() async throws {
    try await withEchoLink { near in
      let count = 2_000
      async let sent: Void = {
        for offset in 0..<count { try await near.write(Pattern(), from: offset, count: 1) }
      }()
      try await near.read(Pattern(), count: count)
      try await sent
    }
  }

  /// Checks bytes that the remote end sends, possibly with its end, before the channel has an owner. Several rounds, because this is a
  /// race.
  func checkEarlyBytes() async throws {
    try await withEcho { address in
      for round in 0..<10 {
        let channel = try await connect(to: address)
        defer { channel.close(promise: nil) }
        let pattern = Pattern(seed: round)
        try await channel.writeAndFlush(pattern.slice(at: 0, count: 5_000)).within(limit, "take bytes").get()
        try await letTheFarEndBeFaster(round)
        let near = try await LinkEnd.own(channel, limit: limit)
        try await near.read(pattern, count: 5_000)
        // The transport may allow only one link at a time.
        try await near.close()
      }
    }
    guard case .listener(let address) = farEnd else { return }
    try await withListener(address) { listener, dialed in
      let channels = listener.channels
      for round in 0..<10 {
        let channel = try await connect(to: dialed)
        defer { channel.close(promise: nil) }
        let far = try await LinkEnd.own(accept(from: channels), limit: limit)
        defer { far.channel.close(promise: nil) }
        try await far.write(Pattern(seed: round), count: 5_000)
        try await far.end()
        try await letTheFarEndBeFaster(round)
        let near = try await LinkEnd.own(channel, limit: limit)
        try await near.read(Pattern(seed: round), count: 5_000)
        try await near.readEnd()
        far.channel.close(promise: nil)
        try await near.close()
      }
    }
  }

  private func letTheFarEndBeFaster(_ round: Int) async throws {
    try await Task.sleep(for: .milliseconds(round))
  }

  func checkBulk() async throws {
    switch farEnd {
    case .listener:
      try await withPair { near, far in
        async let sent: Void = near.write(Pattern(), count: bulkByteCount)
        try await far.read(Pattern(), count: bulkByteCount)
        try await sent
      }
    case .echo:
      try await withEchoLink { near in
        async let sent: Void = near.write(Pattern(), count: bulkByteCount)
        try await near.read(Pattern(), count: bulkByteCount)
        try await sent
      }
    }
  }

  func checkManyLinks() async throws {
    try await withEcho { address in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for seed in 1...linksAtOnce {
          tasks.addTask {
            let near = try await LinkEnd.own(connect(to: address), limit: limit)
            defer { near.channel.close(promise: nil) }
            let pattern = Pattern(seed: seed)
            // All are open concurrently, as none ends before it has answered twice.
            for round in 0..<2 {
              async let sent: Void = near.write(pattern, from: round * 65_536, count: 65_536)
              try await near.read(pattern, from: round * 65_536, count: 65_536)
              try await sent
            }
            try await near.end()
            try await near.readEnd()
          }
        }
        try await tasks.waitForAll()
      }
    }
  }
}
