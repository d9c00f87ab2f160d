import Byway
import BywayDoctor
import Foundation
import Testing

@Suite("Doctor: table of findings") struct FaultTableTests {
  @Test("docs/doctor.md has one row for every fault, and no other rows")
  func rows() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/doctor.md"), encoding: .utf8)
    let table = page.components(separatedBy: "## Findings").last?.components(separatedBy: "\n## ").first ?? ""
    let firstCells = table.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap {
      $0.split(separator: "|").first
    }
    let names = firstCells.flatMap { cell in cell.matches(of: /`([a-z-]+)`/).map { String($0.1) } }
    #expect(Set(names) == Set(LinkFault.allCases.map(\.rawValue)))
    #expect(names.count == Set(names).count)
  }
}
