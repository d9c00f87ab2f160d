/// Whether a condition comes true within ten seconds.
func until(_ condition: () async throws -> Bool) async throws -> Bool {
  for _ in 0..<1000 {
    if try await condition() { return true }
    try await Task.sleep(for: .milliseconds(10))
  }
  return false
}
