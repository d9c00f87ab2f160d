import Byway

/// The place of a `usb-gadget:` address.
enum GadgetPlace: Sendable, Hashable {
  /// A gadget that this program creates.
  case created(GadgetSettings)
  /// A function of a gadget that the system has created, by the folder where its FunctionFS is mounted.
  case mounted(String)

  init(_ address: LinkAddress) throws(BywayError) {
    let path = address.path
    if address.authority == nil, path.isEmpty {
      self = .created(try GadgetSettings(address))
      return
    }
    guard address.authority == nil, path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw BywayError(
        .invalidAddress,
        "\(address) has neither an empty nor an absolute path: write usb-gadget:?name=NAME for a new gadget, or usb-gadget:/PATH for a "
          + "FunctionFS that is mounted there.")
    }
    if let option = GadgetSettings.options.first(where: { address[option: $0.name] != nil }) {
      throw BywayError(
        .invalidAddress,
        "\(address) has both a path and \(option.name)=: leave one of them out, because the gadget of a path exists.")
    }
    self = .mounted(path)
  }
}

extension GadgetPlace: CustomStringConvertible {
  var description: String {
    switch self {
    case .created(let settings): "USB gadget \(settings.name)"
    case .mounted(let path): path
    }
  }
}
