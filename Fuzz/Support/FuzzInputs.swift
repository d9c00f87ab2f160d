import Foundation

/// The seeds and findings of a target, for the unit tests: every file of Fuzz/Seeds and Fuzz/Findings.
package struct FuzzInputs: Sendable {
  package let all: [(name: String, bytes: [UInt8])]

  package init(_ target: String) {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    all = ["Seeds", "Findings"].flatMap { kind in
      let files = folder.appending(path: "\(kind)/\(target)")
      let names = (try? FileManager.default.contentsOfDirectory(atPath: files.path)) ?? []
      return names.sorted().compactMap { name in
        (try? Data(contentsOf: files.appending(path: name))).map { (name: "\(kind)/\(name)", bytes: Array($0)) }
      }
    }
  }

  /// Returns the first input, or the first of a thousand inputs derived from them, that fails the check, and the reason.
  package func firstFailure(of check: ([UInt8]) throws -> Void) -> String? {
    let grown = crossed(1, count: 1000).map { (name: "\($0)", bytes: $0) }
    for (name, bytes) in all + grown {
      do {
        try check(bytes)
      } catch {
        return "\(name): \(error)"
      }
    }
    return nil
  }

  /// Combines the beginnings of some inputs with the ends of others, as a fuzzer does first.
  private func crossed(_ seed: UInt64, count: Int) -> [[UInt8]] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    func random(_ bound: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(max(bound, 1)))
    }
    guard !all.isEmpty else { return [] }
    return (0..<count).map { _ in
      let (left, right) = (all[random(all.count)].bytes, all[random(all.count)].bytes)
      return Array(left.prefix(random(left.count + 1)) + right.suffix(random(right.count + 1)))
    }
  }
}
