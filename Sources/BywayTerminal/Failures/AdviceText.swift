package import Byway
import BywayPrimitives

/// Puts the advice of libraries into the words of this command: its options.
package enum AdviceText {
  package static func of(_ advice: Advice) -> String {
    switch advice {
    case .allow(let target): "start it with --allow \(target) if it should"
    case .allowPage(let page?): "start it with --allow-page \(page) if it should"
    case .allowPage(nil): "start it with --allow-page and the page's origin if it should"
    case .allowHost(let host): "start it with --name \(host) if it should"
    case .allowUpgrade: "--allow-upgrade"
    case .allowOtherMachines: "A proxy has --listen-anywhere."
    case .raise(.connectTimeout): "--connect-timeout"
    case .raise(.responseTimeout): "--response-timeout"
    case .raise(.namesPerPeer): "--max-names-per-peer"
    case .raise(.keptBodies): "--inspect-bodies SIZE"
    case .correctOrigin: "correct --origin"
    case .correctUpstreamProxy: "correct --upstream-proxy"
    case .giveProxyLogin: "give it with --upstream-proxy http://USER:PASSWORD@HOST:PORT"
    case .expectName: "say which name to expect there with --peer-name"
    case .giveClientCertificate: "give a certificate with --client-cert FILE --client-key FILE"
    case .replaceClientCertificate: "--client-cert"
    case .addSuffix(let suffix): "add --suffix \(suffix)"
    case .startGateway(let address): "start \"byway gateway --link \(address)\" there"
    case .program(.gateway): "\"byway gateway\""
    case .program(.proxy): "\"byway proxy\""
    case .program(.waitingProxy): "\"byway proxy\" with ?open=listen"
    case .copyProgram(let what): "copy \(what) with \"byway push\""
    case .listing(let ports): "\"byway ports\" lists \(ports)"
    case .trust(let host): "byway trust add \(host) FILE"
    case .replaceAuthority: "run byway trust authority remove, and then create, to make another"
    case .showAuthority: "the certificate that byway trust authority show prints"
    case .inspectorURL: "the URL that byway status shows and that the command prints to a terminal"
    case .emulatedLine: "byway demo has one"
    case .examine(let link): "byway doctor \(ShellWord.of(link))"
    case .listPorts: "byway ports"
    }
  }
}
