package import Byway
package import BywayDevices
import NIOCore

/// Watches ports, asks the devices behind them for their names, and reports the devices.
///
/// Owns its tasks until ``stop()``.
package actor Discovery {
  /// Asks the device at a link for its claim. Has its own time limit, and closes the link before it returns.
  package typealias Ask = @Sendable (_ link: String) async -> DeviceClaim?

  /// The devices, at first and after each change. For one reader.
  package nonisolated let devices: AsyncStream<[DiscoveredDevice]>
  private let listener: AsyncStream<[DiscoveredDevice]>.Continuation
  private let ask: Ask
  private var ports: DiscoveredPorts
  private var told: [DiscoveredDevice]?
  /// The tasks that read sources, by number. Numbers are not reused.
  private var sources: [Int: Task<Void, Never>] = [:]
  private var sourceCount = 0
  private var questions: [DiscoveredPorts.Question: Task<Void, Never>] = [:]
  private var alarm: Task<Void, any Error>?
  private var isStopped = false

  /// - Parameters:
  ///   - reserved: names that discovered devices may not have.
  ///   - ask: ``ClaimReader``, for example.
  package init(reserved: Set<DeviceName>, ask: @escaping Ask) {
    ports = DiscoveredPorts(reserved: reserved)
    (devices, listener) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.ask = ask
  }

  /// Watches the ports of one source.
  /// - Parameter lists: complete lists of the ports of this source.
  /// - Returns: its number, for ``remove(_:)``.
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

  /// Stops watching a source. Its ports count as away.
  package func remove(_ source: Int) {
    guard let task = sources.removeValue(forKey: source) else { return }
    task.cancel()
    list([], from: source)
  }

  /// Replaces the reserved names, after a reload.
  package func reserve(_ names: Set<DeviceName>) {
    ports.reserve(names)
    goOn()
  }

  /// Stops all tasks, and returns when no question is running any more.
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
    // A question that is due but waits for another's answer continues when that answer comes.
    alarm = ports.deadline.flatMap { deadline in
      guard deadline > now else { return nil }
      return Task {
        try await Task.sleep(for: .nanoseconds((deadline - now).nanoseconds))
        self.goOn()
      }
    }
  }
}
