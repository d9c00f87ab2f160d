package import NIOCore

/// Polls the state of an event loop for a test, with a time limit.
package struct Watch: Sendable {
  package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
  }

  package let eventLoop: any EventLoop
  private let patience: TimeAmount

  package init(_ eventLoop: any EventLoop, patience: TimeAmount = .seconds(30)) {
    self.eventLoop = eventLoop
    self.patience = patience
  }

  package func until(
    _ what: @escaping @autoclosure @Sendable () -> String, _ condition: @escaping @Sendable () -> Bool
  ) async throws {
    _ = try await value(what()) { condition() ? true : nil }
  }

  /// Waits for a value that is not `nil`.
  /// - Parameter what: named in the error if the value does not come in time.
  package func value<Value: Sendable>(
    _ what: @escaping @autoclosure @Sendable () -> String, _ look: @escaping @Sendable () -> Value?
  ) async throws -> Value {
    let deadline = NIODeadline.now() + patience
    let promise = eventLoop.makePromise(of: Value.self)
    @Sendable func lookAgain() {
      if let value = look() {
        promise.succeed(value)
      } else if NIODeadline.now() > deadline {
        promise.fail(NeverHappened(description: "It never happened that \(what())."))
      } else {
        eventLoop.scheduleTask(in: .milliseconds(1), lookAgain)
      }
    }
    eventLoop.execute(lookAgain)
    return try await promise.futureResult.get()
  }

  /// Waits until a number is unchanged for a hundred polls in a row.
  package func settled(_ number: @escaping @Sendable () -> Int) async throws -> Int {
    nonisolated(unsafe) var last = 0
    nonisolated(unsafe) var looks = 0
    return try await value("\(last) was the last of it") {
      let current = number()
      looks = current == last ? looks + 1 : 0
      last = current
      return looks > 100 ? current : nil
    }
  }

  /// Runs a body on the event loop.
  package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await eventLoop.submit(body).get()
  }
}
