import BywayTerminal
import Testing

@testable import BywayDaemonProcess

@Suite struct DescriptorBudgetTests {
  private let reserve = DescriptorBudget.reserve

  @Test("incoming connections get half of the available descriptors, at most 1024 by default")
  func shares() throws {
    let few = try DescriptorBudget(accepting: nil, within: reserve + 88)
    #expect(few.accepted == 44 && few.opened == 44)
    let many = try DescriptorBudget(accepting: nil, within: 65_536)
    #expect(many.accepted == 1024 && many.opened == 65_536 - reserve - 1024)
    #expect(try DescriptorBudget(accepting: 5000, within: 65_536).accepted == 5000)
    #expect(try DescriptorBudget(accepting: 4, within: reserve + 88).opened == 84)
    #expect(try DescriptorBudget(accepting: nil, within: 8).accepted == 1)
  }

  @Test("devices that dial a hub get half of a small number of descriptors, or the requested number of a large one")
  func devices() throws {
    let few = try DescriptorBudget(accepting: nil, dialing: nil, within: reserve + 88)
    #expect(few.dialing == 44 && few.accepted == 22 && few.opened == 22)
    let many = try DescriptorBudget(accepting: nil, dialing: 30_000, within: 65_536)
    #expect(many.dialing == 30_000 && many.accepted == 1024 && many.opened == 65_536 - reserve - 31_024)
    #expect(try DescriptorBudget(accepting: nil, within: 65_536).dialing == 0)
    let failure = try #require(throws: CommandFailure.self) {
      try DescriptorBudget(accepting: nil, dialing: 87, within: reserve + 88)
    }
    #expect(failure.message.contains("--max-devices 87 needs \(reserve + 89) open files") && failure.status == .usage)
    #expect(throws: CommandFailure.self) { try DescriptorBudget.check(devices: 0) }
  }

  @Test("more connections than the limit of open files allows are refused with advice", arguments: [45, 0, -1])
  func tooMany(_ asked: Int) throws {
    let failure = try #require(throws: CommandFailure.self) {
      try DescriptorBudget(accepting: asked, within: reserve + 88)
    }
    #expect(failure.status == .usage)
    if asked > 0 {
      #expect(failure.message.contains("needs \(reserve + 90) open files, and \(reserve + 88) are allowed"))
      #expect(failure.message.contains("ulimit -n"))
    }
  }
}
