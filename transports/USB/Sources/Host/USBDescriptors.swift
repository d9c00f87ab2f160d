/// The descriptors of a device, as it has sent them (USB 2.0 §9.6).
enum USBDescriptors {
  private static let configurationKind: UInt8 = 2
  private static let interfaceKind: UInt8 = 4
  private static let endpointKind: UInt8 = 5
  private static let bulk: UInt8 = 2
  /// The most settings that are read: twice as many as Linux has interfaces of a device. A device may send thousands.
  private static let limit = 64

  /// Returns the settings of interfaces that have a pair of bulk endpoints.
  /// - Parameters:
  ///   - bytes: the descriptor of the device, followed by those of its configurations.
  ///   - configuration: the number of the active configuration.
  static func interfaces(in bytes: [UInt8], configuration: UInt8) -> [USBInterface] {
    var found: [USBInterface] = []
    var isActive = false
    var current: Setting?
    var rest = bytes[...]
    while found.count < limit, let length = rest.first, length >= 2, rest.count >= length {
      let one = Array(rest.prefix(Int(length)))
      rest = rest.dropFirst(Int(length))
      switch one[1] {
      case configurationKind where one.count >= 6:
        isActive = one[5] == configuration
        if let interface = current.take()?.interface { found.append(interface) }
      case interfaceKind where one.count >= 9:
        if let interface = current.take()?.interface { found.append(interface) }
        if isActive { current = Setting(one) }
      case endpointKind where one.count >= 4 && one[3] & 3 == bulk:
        current?.add(endpoint: one[2])
      default: break
      }
    }
    // At the limit, the last setting has no endpoints yet.
    if let interface = current?.interface { found.append(interface) }
    return found
  }

  private struct Setting {
    let head: [UInt8]
    var input: UInt8?
    var output: UInt8?

    init(_ head: [UInt8]) {
      self.head = head
    }

    mutating func add(endpoint: UInt8) {
      if endpoint & 0x80 != 0 { input = input ?? endpoint } else { output = output ?? endpoint }
    }

    var interface: USBInterface? {
      guard let input, let output else { return nil }
      return USBInterface(
        number: head[2], alternate: head[3], kind: USBClass(kind: head[5], subclass: head[6], version: head[7]),
        input: input, output: output)
    }
  }
}
