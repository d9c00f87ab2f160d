import Synchronization

/// A remedy for a failure: the setting to change. Its text is a phrase within the failure's message.
///
/// Libraries know settings, not the options of a command. A program that has options for them sets the ``Wording`` of its process.
package indirect enum Advice: Sendable, Hashable {
  /// A program that a user starts at a remote end. Its text is a noun.
  package enum Program: Sendable, Hashable {
    case gateway
    case proxy
    /// A proxy that waits for the gateway of one link.
    case waitingProxy
  }

  /// A limit that a user can raise. Its text is the name of the setting.
  package enum Limit: Sendable, Hashable {
    case connectTimeout
    case responseTimeout
    /// The number of devices that one peer may claim without a certificate.
    case namesPerPeer
    /// The size of the bodies that an inspector keeps.
    case keptBodies
  }

  /// "add TARGET to … if it should", for a gateway's access rules.
  case allow(String)
  /// "add PAGE to … if it should", for a proxy's rules; `nil` if the page's origin is unknown.
  case allowPage(String?)
  /// "add HOST to … if it should", for a proxy's own names.
  case allowHost(String)
  /// The name of the setting with the protocols that requests may upgrade to.
  case allowUpgrade
  /// "Add insecure=yes …", a sentence, for an address that other machines reach.
  case allowOtherMachines
  /// The name of the limit.
  case raise(Limit)
  /// "correct …"
  case correctOrigin
  /// "correct …"
  case correctUpstreamProxy
  /// "give it …", for the login at an upstream proxy.
  case giveProxyLogin
  /// "say which name to expect there …", for the name in a certificate.
  case expectName
  /// "give a certificate …"
  case giveClientCertificate
  /// The name of the setting with the client certificate.
  case replaceClientCertificate
  /// "add … local", for the domain of published devices.
  case addSuffix(String)
  /// "start … there", for a gateway that must listen on that address.
  case startGateway(listeningOn: String)
  /// The program, to follow "start".
  case program(Program)
  /// "copy it …", for a program that a remote machine lacks; with the words for what to copy, such as "it".
  case copyProgram(String)
  /// "… lists the serial ports", with the words for what it lists.
  case listing(String)
  /// "add a host to …", for the certificate of an origin.
  case trust(host: String)
  /// "remove the files of …, and then create another"
  case replaceAuthority
  /// The certificate of the local authority, to follow "give it".
  case showAuthority
  /// The URL of the inspector with its token, after "in".
  case inspectorURL
  /// "… has one", where a line that is not emulated cannot be disturbed.
  case emulatedLine
  /// The command that examines a link, which is an address or a placeholder; no text in a program without such a command.
  case examine(link: String)
  /// The command that lists the ports of this machine; no text in a program without such a command.
  case listPorts
}

extension Advice: CustomStringConvertible {
  /// Puts advice into the words of a program's users.
  package typealias Wording = @Sendable (Advice) -> String

  private static let wording = Mutex<Wording?>(nil)

  /// Sets the words for this process. For a program's start, before a message is made.
  package static func use(_ wording: @escaping Wording) { Self.wording.withLock { $0 = wording } }

  package var description: String { Self.wording.withLock { $0 }?(self) ?? inCode }

  /// The text of a command; `nil` in a program without this command.
  package var command: String? {
    let text = description
    return text.isEmpty ? nil : text
  }

  /// The text for users of the libraries: settings by their names in Swift.
  package var inCode: String {
    switch self {
    case .allow(let target): "add \(target) to its allowed targets if it should"
    case .allowPage(let page): "add \(page ?? "the page's origin") to its allowedPages if it should"
    case .allowHost(let host): "add \(host) to its names if it should"
    case .allowUpgrade: "allowedUpgrades"
    case .allowOtherMachines: "Add insecure=yes to the address if they should."
    case .raise(.connectTimeout): "connectTimeout"
    case .raise(.responseTimeout): "responseTimeout"
    case .raise(.namesPerPeer): "mostDialedByPeer"
    case .raise(.keptBodies): "a higher limit for bodies"
    case .correctOrigin: "correct its address"
    case .correctUpstreamProxy: "correct upstreamProxy"
    case .giveProxyLogin: "give it in upstreamProxy, http://USER:PASSWORD@HOST:PORT"
    case .expectName: "say which name to expect there with a PeerName"
    case .giveClientCertificate: "give a certificate with a ClientIdentity"
    case .replaceClientCertificate: "ClientIdentity"
    case .addSuffix(let suffix): "add the suffix \(suffix)"
    case .startGateway(let address): "start a gateway with the link \(address) there"
    case .program(.gateway): "a gateway"
    case .program(.proxy): "a proxy"
    case .program(.waitingProxy): "a client whose link has ?open=listen"
    case .copyProgram(let what): "copy \(what) there"
    case .listing(let ports): "ports() of the transport lists \(ports)"
    case .trust(let host): "add an entry for \(host) to the ServerTrust"
    case .replaceAuthority: "remove its files and create another with LocalAuthority"
    case .showAuthority: "the certificate of the LocalAuthority"
    case .inspectorURL: "the URL of the inspector"
    case .emulatedLine: "its program must add one"
    case .examine, .listPorts: ""
    }
  }
}
