import Foundation
import HTTP1Checks
import Testing

/// Every input of Fuzz/Seeds and Fuzz/Findings, and what grows out of them by chance.
@Suite struct FuzzReplayTests {
  private static let inputs: [(name: String, bytes: [UInt8])] = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz").standardized
    return ["Seeds/HTTP1", "Findings/HTTP1"].flatMap { folder in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
      return names.sorted().compactMap { name in
        let file = root.appending(path: folder).appending(path: name)
        return (try? Data(contentsOf: file)).map { (name: "\(folder)/\(name)", bytes: Array($0)) }
      }
    }
  }()

  @Test("what was found once stays mended") func replay() throws {
    #expect(Self.inputs.count >= 14)
    for (name, bytes) in Self.inputs {
      #expect(throws: Never.self, "\(name)") { try HTTP1Check.check(bytes) }
    }
  }

  @Test("seeds whose parts are swapped break nothing", arguments: 0..<20 as Range<UInt64>)
  func crossed(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<200 {
      guard let (_, left) = Self.inputs.randomElement(using: &random),
        let (_, right) = Self.inputs.randomElement(using: &random)
      else { return }
      let bytes = Array(
        left.prefix(Int.random(in: 0...left.count, using: &random))
          + right.suffix(Int.random(in: 0...right.count, using: &random)))
      #expect(throws: Never.self, "\(bytes)") { try HTTP1Check.check(bytes) }
    }
  }
}
