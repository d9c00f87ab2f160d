package import Byway

/// What a right is for.
package enum Resource: Sendable, Hashable {
  case device(DeviceName)
  /// The default device, and the servers that its gateway reaches.
  case main

  /// By which a file of rights calls the default device; no device has such a name.
  static let mainWord = "@default"

  package var text: String {
    switch self {
    case .device(let name): name.text
    case .main: Self.mainWord
    }
  }
}

extension Addressee {
  /// What whoever asks needs the right to; `nil` for the list of devices, which shows each what is theirs.
  func resource(hasMain: Bool) -> Resource? {
    switch self {
    case .proxy: hasMain ? .main : nil
    case .device(let name): .device(name)
    case .frontPage: nil
    case .elsewhere: .main
    }
  }
}
