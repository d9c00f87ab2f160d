/// Returns whether a condition becomes true within 45 s. Does not block a thread while it waits.
package func eventually(
  within limit: Duration = .seconds(45), _ condition: () async throws -> Bool
) async throws -> Bool {
  try await eventualValue(within: limit) { try await condition() ? true : nil } ?? false
}

/// Returns a value as soon as there is one, or `nil` after 45 s.
///
/// This is the only function of the tests that sleeps; scripts/check-waits refuses others.
package func eventualValue<Value>(
  within limit: Duration = .seconds(45), _ value: () async throws -> Value?
) async throws -> Value? {
  let deadline = ContinuousClock.now + limit
  while ContinuousClock.now < deadline {
    if let value = try await value() { return value }
    try await Task.sleep(for: .milliseconds(5))
  }
  return try await value()
}

/// Returns once a value has not changed for a while.
package func settled<Value: Equatable>(for time: Duration, _ value: () async throws -> Value) async throws {
  var last = try await value()
  while try await eventually(within: time, { try await value() != last }) { last = try await value() }
}

/// Waits until the task is cancelled. Stands for a peer that does not respond.
package func untilCancelled() async throws {
  let (endless, continuation) = AsyncStream.makeStream(of: Void.self)
  for await _ in endless {}
  withExtendedLifetime(continuation) {}
  throw CancellationError()
}
