import ArgumentParser
import Byway
import Primitives

/// The devices that a proxy leads to by name.
struct DeviceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A device, reached as http://NAME.localhost: its links, the better one first. NAME may be {name}, which the links "
        + "then have, too: {name}=ssh://{name}/run/byway.sock. May be repeated.", valueName: "name=link[,link]"),
    completion: .links)
  var device: [String] = []

  @Option(
    help: ArgumentHelp(
      "Devices are reached as NAME.DOMAIN, too, and at byway.DOMAIN is their list. May be repeated.",
      valueName: "domain"))
  var suffix: [String] = []

  init() {}

  var isEmpty: Bool { device.isEmpty }

  /// - Parameter main: the default device's link.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where one of them cannot be.
  func directory(main: Link?, in transports: TransportRegistry) throws -> DeviceDirectory {
    if device.isEmpty, suffix.isEmpty, let main { return DeviceDirectory(main: main) }
    var roads: [(name: String, links: [String])] = []
    for text in device {
      let argument = try DeviceArgument(text, schemes: transports.schemes)
      if let known = roads.firstIndex(where: { $0.name == argument.name }) {
        roads[known].links += argument.links
      } else {
        roads.append((argument.name, argument.links))
      }
    }
    var devices: [Device] = []
    var patterns: [DevicePattern] = []
    for (name, links) in roads {
      try OptionValue.of("--device \(name)") {
        if name.contains(DevicePattern.placeholder) {
          patterns.append(try DevicePattern(name, roads: links) { try transports.link(named: $0) })
        } else {
          devices.append(try Device(DeviceArgument.name(name), roads: links.map { try transports.link(named: $0) }))
        }
      }
    }
    return try OptionValue.of("--suffix") {
      try DeviceDirectory(devices, patterns: patterns, main: main.map { [$0] } ?? [], suffixes: suffix)
    }
  }
}

/// `NAME=LINK,LINK`, or the name of a link that byway links lists.
struct DeviceArgument {
  let name: String
  let links: [String]

  /// - Parameter schemes: of links. A comma belongs to a link where none of them follows it, and no name of a link.
  /// - Throws: ``CommandFailure``
  init(_ text: String, schemes: [String]) throws(CommandFailure) {
    let equals = text.firstIndex(of: "=")
    name = String(text[..<(equals ?? text.endIndex)])
    let value = equals.map { String(text[text.index(after: $0)...]) } ?? text
    guard !name.isEmpty, !value.isEmpty, equals != nil || ShortName.isValid(text) else {
      throw CommandFailure(
        .usage, "--device \(text): write NAME=LINK, for example printer=serial:/dev/ttyUSB0, or the name of a link.")
    }
    var links: [String] = []
    for part in value.split(separator: ",", omittingEmptySubsequences: false) {
      let begins = links.isEmpty || (Self.isLink(part, schemes) && !(links.last ?? "").hasPrefix("exec:"))
      if begins { links.append(String(part)) } else { links[links.count - 1] += ",\(part)" }
    }
    self.links = links
  }

  /// - Throws: ``CommandFailure``
  static func name(_ text: String) throws(CommandFailure) -> DeviceName {
    guard let name = DeviceName(text) else {
      throw CommandFailure(.usage, "\"\(text)\" cannot be a device's name: \(DeviceName.rule).")
    }
    return name
  }

  private static func isLink(_ text: Substring, _ schemes: [String]) -> Bool {
    if let colon = text.firstIndex(of: ":") { return schemes.contains(text[..<colon].lowercased()) }
    return ShortName.isValid(text.prefix { $0 != "?" })
  }
}
