package import Byway

/// Why a device cannot have a name that it gives itself. The rule is the same at the gateway and at a hub.
package enum NameProblem: Error, Sendable, Hashable {
  case malformed
  /// Browsers would show other characters in its place, perhaps those of a trusted name.
  case encoded
  /// The list of devices has this name.
  case reserved
}

extension NameProblem: CustomStringConvertible {
  /// A predicate, for a sentence whose subject is the name.
  package var description: String {
    switch self {
    case .malformed: "is not the name of a device: write \(DeviceName.rule)"
    case .encoded:
      "is not allowed, because browsers show names with hyphens in the third and fourth place as other characters"
    case .reserved: "is the name of the list of devices"
    }
  }
}

extension DeviceName {
  /// Parses the name that a device gives itself.
  package static func selfGiven(_ text: some StringProtocol) throws(NameProblem) -> DeviceName {
    guard let name = DeviceName(text) else { throw .malformed }
    if name.isEncoded { throw .encoded }
    if name.text == DeviceHosts.frontPage { throw .reserved }
    return name
  }
}

/// The name in the description that a device gives of itself.
package enum ClaimedName: Sendable, Hashable {
  case none
  case usable(DeviceName)
  /// The text is cut to the length that shows the problem.
  case unusable(String, NameProblem)

  /// - Parameter text: `nil` if there is none.
  init(reading text: String?) {
    guard let text else {
      self = .none
      return
    }
    do throws(NameProblem) {
      self = .usable(try DeviceName.selfGiven(text))
    } catch {
      self = .unusable(String(text.unicodeScalars.prefix(DeviceName.maximumLength + 1)), error)
    }
  }

  var name: DeviceName? {
    if case .usable(let name) = self { name } else { nil }
  }

  /// The text as claimed; `nil` if there is none.
  var text: String? {
    switch self {
    case .none: nil
    case .usable(let name): name.text
    case .unusable(let text, _): text
    }
  }
}
