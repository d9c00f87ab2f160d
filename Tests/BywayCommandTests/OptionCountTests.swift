import ArgumentParser
import BywayTerminal
import Testing

@testable import BywayCommand

@Suite("Repeated options") struct OptionCountTests {
  private func message(_ arguments: [String], of command: any ParsableArguments.Type) -> String? {
    do throws(CommandFailure) {
      try OptionCount.check(arguments, of: command)
      return nil
    } catch {
      return error.message
    }
  }

  @Test(
    "an option that takes one value cannot be given twice, in any spelling",
    arguments: [
      ["-X", "GET", "-XPOST", "/"], ["-XGET", "--request=POST", "/"], ["-vo", "a", "-iob", "/"],
      ["--max-time", "1", "--max-time", "2"],
    ])
  func twice(_ arguments: [String]) {
    #expect(message(arguments, of: RequestCommand.self)?.contains("can only be given once") == true)
  }

  @Test(
    "repeatable options, flags and option-like values may occur several times",
    arguments: [
      ["-H", "a: b", "-Hc: d", "/"], ["-v", "-v", "/"], ["-d", "-o", "-o", "x", "/"], ["-o", "x", "--", "-o"],
      ["--trust", "a", "--trust", "b", "/"], ["-H", "-X", "-X", "GET", "/"],
    ])
  func fine(_ arguments: [String]) {
    #expect(message(arguments, of: RequestCommand.self) == nil)
  }

  @Test("the parser's description of every command can be decoded")
  func facts() throws {
    let facts = ArgumentFacts.all(of: RequestCommand.self)
    let header = try #require(facts.first { $0.names.contains("--header") })
    #expect(header.names == ["-H", "--header"] && header.isRepeating && header.kind == .option)
    #expect(facts.contains { $0.kind == .positional && $0.valueName == "url" })
    #expect(facts.contains { $0.names.contains("--include") && $0.kind == .flag })
    #expect(ArgumentFacts.all(of: GatewayOptions.self).contains { $0.names == ["--origin"] && !$0.isRepeating })
  }
}
