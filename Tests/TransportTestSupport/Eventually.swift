/// Whether a condition comes true within ten seconds; no thread that other tests need is blocked meanwhile.
package func eventually(_ condition: () -> Bool) async throws -> Bool {
  for _ in 0..<1000 where !condition() { try await Task.sleep(for: .milliseconds(10)) }
  return condition()
}
