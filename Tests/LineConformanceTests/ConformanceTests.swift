import BywayLineConformance
import Testing

@Suite("Conformance of the line layer")
struct ConformanceTests {
  static let all = Result { try Catalogue.standard() }
  static let scripts = Role.allCases.flatMap { role in
    ((try? all.get())?.scripts ?? []).filter { $0.roles.contains(role) }.map { Case(role: role, script: $0) }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let role: Role
    let script: Script

    var testDescription: String { "\(role) §\(script.section) \(script.name)" }
  }

  static func options(_ role: Role) -> Conformance.Options {
    var options = Conformance.Options(role: role)
    options.means = Set(Script.Need.allCases)
    options.tolerance = 1_000_000
    options.pause = 20_000_000
    return options
  }

  @Test("the catalogue has at least 130 scripts with different names, and an opening for each")
  func reading() throws {
    let catalogue = try Self.all.get()
    #expect(catalogue.scripts.count > 130)
    #expect(Set(catalogue.scripts.map { "\($0.roles) \($0.section) \($0.name)" }).count == catalogue.scripts.count)
    for script in catalogue.scripts {
      for role in script.roles {
        #expect(catalogue.openings.contains { $0.state == script.state && $0.role == role }, "\(script.name)")
      }
    }
  }

  @Test("Byway's line layer passes each check on a new line", arguments: scripts)
  func alone(_ tested: Case) throws {
    var catalogue = try Self.all.get()
    catalogue.scripts = [tested.script]
    let performance = Performance(
      catalogue, Self.options(tested.role), owner: tested.script.needs.contains(.owner) ? .obedient : .echo)
    #expect(performance.hasPassed && performance.failures.isEmpty, "\(performance.lines.joined(separator: "\n"))")
    #expect(!performance.lines.contains { $0.contains("# SKIP") }, "\(performance.lines.joined(separator: "\n"))")
  }

  @Test(
    "a small end, with a payload of 64 bytes and a window of 16 units, passes each required check",
    arguments: Role.allCases, [0, 12])
  func small(_ role: Role, _ correction: Int) throws {
    var options = Self.options(role)
    options.means = [.cut]
    var end = Performance.Mutation(name: "small")
    end.configuration.largestPayload = 64
    end.configuration.window = 256
    end.configuration.correction = correction
    let performance = Performance(try Self.all.get(), options, owner: .echo, mutation: end)
    let failures = performance.failures.filter { !$0.contains("# TODO") }
    #expect(performance.hasPassed && failures.isEmpty, "\(performance.lines.joined(separator: "\n"))")
  }

  @Test("Byway's line layer passes all checks in a row on one line", arguments: Role.allCases)
  func together(_ role: Role) throws {
    var options = Self.options(role)
    options.means = [.cut]
    let performance = Performance(try Self.all.get(), options, owner: .echo)
    #expect(performance.hasPassed, "\(performance.lines.joined(separator: "\n"))")
    #expect(performance.lines.first == "TAP version 13")
    #expect(performance.lines.last?.contains(" 0 failed, ") == true)
  }
}
