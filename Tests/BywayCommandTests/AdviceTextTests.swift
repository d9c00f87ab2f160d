import ArgumentParser
import Byway
import BywayTerminal
import Testing

@testable import BywayCommand

@Suite("Advice of errors") struct AdviceTextTests {
  private static let gateway: [Advice] = [
    .allow("a.example:80"), .allowUpgrade, .raise(.connectTimeout), .raise(.responseTimeout), .correctOrigin,
    .correctUpstreamProxy,
    .giveProxyLogin, .expectName, .giveClientCertificate, .replaceClientCertificate,
    .startGateway(listeningOn: "unix:a"),
  ]
  private static let proxy: [Advice] = [
    .allowPage("http://a.example"), .allowPage(nil), .allowHost("a.example"), .allowOtherMachines,
    .raise(.namesPerPeer), .raise(.keptBodies), .addSuffix("local"),
  ]

  private static let command: [Advice] = [
    .startGateway(listeningOn: "unix:a"), .program(.gateway), .program(.proxy), .program(.waitingProxy),
    .copyProgram("it"), .listing("the ports"), .trust(host: "a"), .replaceAuthority, .showAuthority, .inspectorURL,
    .emulatedLine, .examine(link: "unix:a b"), .listPorts,
  ]

  @Test("the command's advice names options that the gateway has", arguments: gateway)
  func gatewayOptions(_ advice: Advice) { check(advice, in: GatewayCommand.helpMessage(includeHidden: true)) }

  @Test("the command's advice names options that the proxy has", arguments: proxy)
  func proxyOptions(_ advice: Advice) { check(advice, in: ProxyCommand.helpMessage(includeHidden: true)) }

  @Test("a library's advice names no options of the command", arguments: gateway + proxy)
  func library(_ advice: Advice) { #expect(options(in: advice.inCode).isEmpty) }

  @Test("the command's advice names a command that exists, and a library's advice names none", arguments: command)
  func commands(_ advice: Advice) throws {
    let words = AdviceText.of(advice).split { " \".,".contains($0) }.map(String.init)
    let start = try #require(words.firstIndex(of: "byway"))
    var known = RootCommand.configuration.subcommands
    var depth = 0
    for word in words[(start + 1)...] {
      guard let command = known.first(where: { $0._commandName == word }) else { break }
      known = command.configuration.subcommands
      depth += 1
    }
    #expect(depth > 0 && known.isEmpty, "\(words)")
    #expect(!advice.inCode.contains("byway"))
  }

  @Test("a link to examine is one argument of a shell, and a library has no command for it")
  func examination() {
    #expect(AdviceText.of(.examine(link: "unix:a b")) == "byway doctor 'unix:a b'")
    #expect(Advice.examine(link: "unix:a").command == nil && Advice.listPorts.command == nil)
    let diagnosis = Diagnosis(.noFile, "There is none.", repair: .listPorts)
    #expect(diagnosis.command == nil && diagnosis.line == "There is none.")
  }

  private func check(_ advice: Advice, in help: String) {
    let options = options(in: AdviceText.of(advice))
    #expect(!options.isEmpty)
    let known = Set(help.split { " ,\n[]()/".contains($0) })
    for option in options { #expect(known.contains(option), "\(option)") }
  }

  private func options(in text: String) -> [Substring] {
    text.split { " \".".contains($0) }.filter { $0.hasPrefix("--") }
  }
}
