package import Byway
import BywayPrimitives

/// Why a hub refuses a gateway.
package enum HubRefusal: Error, Sendable, Hashable {
  case noName
  case unusableName(String, NameProblem)
  /// Its certificate has other names.
  case uncertified(DeviceName, certified: [String])
  /// The hub's configuration has a device of this name, or a pattern that matches it.
  case configured(DeviceName)
  /// A gateway whose certificate has the name uses it.
  case certifiedElsewhere(DeviceName)
  /// The hub has its maximum number of devices, and all are connected.
  case full(DeviceName, limit: Int)
  /// Its address has too many names. The text says what to do.
  case tooManyNames(DeviceName, String)
  /// A connected device of the other kind uses the name.
  case otherKind(DeviceName, isBoard: Bool)
  /// It dials a hub with `http=1.1`, and does not begin as a board does.
  case notABoard
  /// Its greeting has another version.
  case boardVersion(String)
  /// It has not answered the question for its name.
  case silent
  /// The hub stops.
  case closing
}

extension HubRefusal: CustomStringConvertible {
  /// A predicate, for a sentence whose subject is the gateway.
  package var description: String {
    switch self {
    case .noName: "claims no name"
    case .unusableName(let text, let problem): "claims '\(text.visible)', which \(problem)"
    case .uncertified(let name, let certified):
      "claims '\(name)', its certificate is for \(certified.isEmpty ? "no name" : Self.list(certified))"
    case .configured(let name): "claims '\(name)', but the hub's configuration already has a device \(name)"
    case .certifiedElsewhere(let name):
      "claims '\(name)' without a certificate, but a gateway whose certificate has this name uses it"
    case .full(let name, let limit): "claims '\(name)', but the hub has its maximum of \(limit) devices"
    case .tooManyNames(let name, let text): "claims '\(name)', and \(text)"
    case .otherKind(let name, let isBoard):
      "claims '\(name)', but \(isBoard ? "a board with HTTP/1.1" : "a gateway with HTTP/2") uses this name"
    case .notABoard:
      "does not begin as byway-mini does: a gateway dials a hub whose address has no http=1.1"
    case .boardVersion(let version):
      "begins with version '\(version.visible)', which is unknown here: use the same version of byway at both ends"
    case .silent: "did not give its name in time"
    case .closing: "dialed a hub that stops"
    }
  }

  /// How many names of a certificate are shown.
  private static let mostShown = 5

  private static func list(_ names: [String]) -> String {
    names.prefix(mostShown).map { "'\($0.visible)'" }.joined(separator: ", ")
  }
}
