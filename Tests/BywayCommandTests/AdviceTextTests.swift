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

  @Test("the command's advice names options that the gateway has", arguments: gateway)
  func gatewayOptions(_ advice: Advice) { check(advice, in: GatewayCommand.helpMessage(includeHidden: true)) }

  @Test("the command's advice names options that the proxy has", arguments: proxy)
  func proxyOptions(_ advice: Advice) { check(advice, in: ProxyCommand.helpMessage(includeHidden: true)) }

  @Test("a library's advice names no options of the command", arguments: gateway + proxy)
  func library(_ advice: Advice) { #expect(options(in: advice.inCode).isEmpty) }

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
