import Synchronization

/// A remedy for a failure: the setting to change. Its text is a phrase within the failure's message.
///
/// Libraries know settings, not the options of a command. A program that has options for them sets the ``Wording`` of its process.
package indirect enum Advice: Sendable, Hashable {
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
}

extension Advice: CustomStringConvertible {
  /// Puts advice into the words of a program's users.
  package typealias Wording = @Sendable (Advice) -> String

  private static let wording = Mutex<Wording?>(nil)

  /// Sets the words for this process. For a program's start, before a message is made.
  package static func use(_ wording: @escaping Wording) { Self.wording.withLock { $0 = wording } }

  package var description: String { Self.wording.withLock { $0 }?(self) ?? inCode }

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
    }
  }
}
