/// Returns whether a condition becomes true within 20 s. Does not block a thread while it waits.
package func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
  for _ in 0..<2000 {
    if try await condition() { return true }
    try await Task.sleep(for: .milliseconds(10))
  }
  return try await condition()
}
