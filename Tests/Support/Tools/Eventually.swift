/// Whether a condition comes true within twenty seconds; no thread that other tests need is blocked meanwhile.
package func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
  for _ in 0..<2000 {
    if try await condition() { return true }
    try await Task.sleep(for: .milliseconds(10))
  }
  return try await condition()
}
