package import Byway
import NIOCore

/// Watches ports, asks who is behind them, and tells which devices there are.
///
/// Owns its tasks until ``stop()``.
package actor Discovery {
  /// What answers within a time of its own, and lets go of the link before it does.
  package typealias Ask = @Sendable (_ link: String) async -> DeviceClaim?

  /// The devices that there are, at first and after each change. For one reader.
  package nonisolated let devices: AsyncStream<[DiscoveredDevice]>
  private let listener: AsyncStream<[DiscoveredDevice]>.Continuation
  private let ask: Ask
  private var ports: DiscoveredPorts
  private var told: [DiscoveredDevice]?
  /// By their numbers, of which none comes again.
  private var sources: [Int: Task<Void, Never>] = [:]
  private var sourceCount = 0
  private var questions: [DiscoveredPorts.Question: Task<Void, Never>] = [:]
  private var alarm: Task<Void, any Error>?
  private var isStopped = false

  /// - Parameters:
  ///   - reserved: names that no such device may have.
  ///   - ask: ``ClaimReader``, for example.
  package init(reserved: Set<DeviceName>, ask: @escaping Ask) {
    ports = DiscoveredPorts(reserved: reserved)
    (devices, listener) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.ask = ask
  }

  /// - Parameter lists: the ports of one source, all of them each time.
  /// - Returns: what ``forget(_:)`` knows it by.
  @discardableResult
  package func watch(_ lists: AsyncStream<[LinkPort]>) -> Int {
    let source = sourceCount
    sourceCount += 1
    guard !isStopped else { return source }
    sources[source] = Task {
      for await list in lists { self.list(list, from: source) }
    }
    return source
  }

  /// Its ports are away from now on.
  package func forget(_ source: Int) {
    guard let task = sources.removeValue(forKey: source) else { return }
    task.cancel()
    list([], from: source)
  }

  /// After a reload.
  package func reserve(_ names: Set<DeviceName>) {
    ports.reserve(names)
    goOn()
  }

  /// Returns when nobody is being asked any more.
  package func stop() async {
    isStopped = true
    alarm?.cancel()
    let tasks = Array(sources.values) + questions.values
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    listener.finish()
  }

  private func list(_ list: [LinkPort], from source: Int) {
    guard sources[source] != nil || list.isEmpty else { return }
    ports.list(list, from: source, at: .now())
    goOn()
  }

  private func take(_ claim: DeviceClaim?, to question: DiscoveredPorts.Question) {
    questions[question] = nil
    ports.take(claim, to: question, at: .now())
    goOn()
  }

  private func goOn() {
    guard !isStopped else { return }
    let now = NIODeadline.now()
    ports.advance(to: now)
    for question in ports.questions(at: now) {
      questions[question] = Task {
        self.take(await self.ask(question.link), to: question)
      }
    }
    let devices = ports.devices
    if devices != told {
      told = devices
      listener.yield(devices)
    }
    alarm?.cancel()
    // What is due and waits for another's answer goes on with that.
    alarm = ports.deadline.flatMap { deadline in
      guard deadline > now else { return nil }
      return Task {
        try await Task.sleep(for: .nanoseconds((deadline - now).nanoseconds))
        self.goOn()
      }
    }
  }
}
