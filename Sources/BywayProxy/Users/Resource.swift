package import Byway

/// The object of a right.
package enum Resource: Sendable, Hashable {
  case device(DeviceName)
  /// The default device, and the servers that its gateway reaches.
  case main

  /// The word for the default device in a file of rights; no device can have that name.
  static let mainWord = "@default"

  package var text: String {
    switch self {
    case .device(let name): name.text
    case .main: Self.mainWord
    }
  }
}

extension ProxyTarget {
  /// Returns the resource that the user needs a right to; `nil` for the list of devices, which shows each user their own.
  func resource(hasMain: Bool) -> Resource? {
    switch self {
    case .proxy: hasMain ? .main : nil
    case .device(let name): .device(name)
    case .frontPage: nil
    case .elsewhere: .main
    }
  }
}
