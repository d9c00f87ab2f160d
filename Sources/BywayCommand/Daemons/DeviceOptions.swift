import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayDevices
import BywayGatewayProgram
import BywayPrimitives
import BywayProxy
import BywayTerminal

/// The devices that a proxy serves by name.
struct DeviceOptions: ParsableArguments {
  @Option(
    help: .value(
      "name=link[,link]",
      "A device, reached as http://NAME.localhost: its links, the better one first. NAME may be {name}, which the links "
        + "then have, too: {name}=ssh://{name}/run/byway.sock. {name} alone: every link that has a name. May be repeated."
    ),
    completion: .links)
  var device: [String] = []

  @Option(
    help: .value("name=text", "The title that users see next to a device's name. May be repeated."))
  var deviceTitle: [String] = []

  @Option(
    help: .value(
      "ports",
      "Make a device of each port that is plugged in: serial, or serial:/FOLDER for those in a folder. dns-sd: let others in "
        + "the network discover the devices, by Avahi. May be repeated."))
  var discover: [String] = []

  @Option(
    help: .value(
      "link",
      "Gateways dial this link, and each is the device whose name it claims. With http=1.1: boards with byway-mini. May be repeated."
    ),
    completion: .links)
  var hub: [String] = []

  @Option(
    help: .value(
      "count", "How many dialing devices may be known at once. (default: 4096, or what the limit of open files allows)")
  )
  var maxDevices: Int?

  @Option(
    help: .value(
      "count",
      "How many names the gateways of one address may claim without certificates. (default: half of --max-devices)"))
  var maxNamesPerPeer: Int?

  @Flag(help: "Gateways of one name share its requests. Otherwise the one that dialed last gets them all.")
  var balance = false

  @Option(
    help: .value("domain", "Devices are also reached as NAME.DOMAIN, and byway.DOMAIN lists them. May be repeated."))
  var suffix: [String] = []

  var isEmpty: Bool { device.isEmpty && sources.isEmpty && hub.isEmpty }

  var isDiscovering: Bool { !sources.isEmpty }

  /// The sources of devices.
  private var sources: [String] { discover.filter { $0 != Self.publishing } }

  private static let publishing = "dns-sd"

  /// Checks the options that are given, which may be a single setting of many.
  func check(in transports: TransportRegistry) throws {
    _ = try directory(main: nil, titles: [:], in: transports)
    try DescriptorBudget.check(devices: maxDevices)
    if let count = maxNamesPerPeer, count < 1 {
      throw CommandFailure(.usage, "--max-names-per-peer is \(count): allow at least one.")
    }
    _ = try titles()
    _ = try discovery(in: transports)
  }

  /// - Returns: `nil` if there is nothing to discover.
  func discovery(in transports: TransportRegistry) throws -> DiscoverySettings? {
    let ports = try sources.map { text in
      try OptionValue.of("--discover") {
        do { return try WatchedPorts(text, transports: transports) } catch let error as BywayError
          where error.code == .unknownScheme
        {
          throw CommandFailure(
            .usage,
            "\"\(text)\" is none of its values: write serial for adapters that are plugged in, serial:/FOLDER for the ports in a "
              + "folder, or \(Self.publishing).")
        }
      }
    }
    return ports.isEmpty ? nil : DiscoverySettings(ports, transports: transports)
  }

  /// - Returns: `nil` if nothing is published.
  func announcement(listen: Link) throws -> AnnouncementRules? {
    guard discover.contains(Self.publishing) else { return nil }
    return try OptionValue.of("--discover \(Self.publishing)") {
      try AnnouncementRules(suffixes: suffix, listen: listen)
    }
  }

  /// The number of devices that may dial; `nil` for the usual number.
  var dialing: Int? { hub.isEmpty ? 0 : maxDevices }

  /// - Parameters:
  ///   - main: The default device's link.
  ///   - mostDialed: The number of dialing devices for which there are descriptors.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if one of them is invalid.
  func directory(main: Link?, mostDialed: Int, in transports: TransportRegistry) throws -> DeviceDirectory {
    let titles = try titles()
    let directory = try directory(main: main, titles: titles, mostDialed: mostDialed, in: transports)
    let names = Set(directory.devices.map(\.name))
    if let left = titles.keys.filter({ !names.contains($0) }).min() {
      throw CommandFailure(.usage, "--device-title \(left): there is no --device of that name.")
    }
    return directory
  }

  private func directory(
    main: Link?, titles: [DeviceName: String], mostDialed: Int = 0, in transports: TransportRegistry
  ) throws -> DeviceDirectory {
    if isEmpty, suffix.isEmpty, let main { return DeviceDirectory(main: main) }
    var linksByName: [(name: String, links: [String])] = []
    var places: [String: Int] = [:]
    // An error in the list of links is reported where one of its names is used.
    let names = device.isEmpty ? [] : Set((try? NamedLinks())?.entries.map(\.name) ?? [])
    for text in device where text != DevicePattern.placeholder {
      let argument = try DeviceArgument(text, schemes: transports.schemes, names: names)
      if let known = places[argument.name] {
        linksByName[known].links += argument.links
      } else {
        places[argument.name] = linksByName.count
        linksByName.append((argument.name, argument.links))
      }
    }
    if device.contains(DevicePattern.placeholder) {
      for name in try Self.namesOfLinks() where places[name] == nil {
        linksByName.append((name, [name]))
      }
    }
    var devices: [Device] = []
    var patterns: [DevicePattern] = []
    for (name, links) in linksByName {
      try OptionValue.of("--device \(name)") {
        if name.contains(DevicePattern.placeholder) {
          patterns.append(try DevicePattern(name, links: links) { try transports.link(named: $0) })
        } else {
          let name = try DeviceArgument.name(name)
          devices.append(
            try Device(name, title: titles[name], links: links.map { try transports.link(named: $0) }))
        }
      }
    }
    let hubs = try hub.map { text in
      try OptionValue.of("--hub") {
        let link = try transports.link(named: text.contains("open=") ? text : Self.listening(text), isHub: true)
        guard link.opening == .listen else {
          throw CommandFailure(.usage, "\(text): gateways dial a hub, so that it listens: leave out open=dial.")
        }
        return link
      }
    }
    return try OptionValue.of("--suffix") {
      try DeviceDirectory(
        devices, patterns: patterns, main: main.map { [$0] } ?? [], suffixes: suffix, isOpen: !sources.isEmpty,
        hubs: hubs, sharing: balance ? .balanced : .newest, mostDialed: mostDialed,
        mostDialedByPeer: maxNamesPerPeer ?? max(1, (mostDialed + 1) / 2))
    }
  }
}

extension DeviceOptions {
  /// Adds the option that a hub implies.
  private static func listening(_ text: String) -> String {
    "\(text)\(text.contains("?") ? "&" : "?")open=listen"
  }

  /// Returns the names of listed links that can be names of devices.
  private static func namesOfLinks() throws -> [String] {
    try NamedLinks().entries.map(\.name).filter { DeviceName($0) != nil && $0.lowercased() != DeviceHosts.frontPage }
  }

  private func titles() throws(CommandFailure) -> [DeviceName: String] {
    var titles: [DeviceName: String] = [:]
    for text in deviceTitle {
      let parts = text.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let title = DeviceText(String(parts[1])) else {
        throw CommandFailure(
          .usage, "--device-title \(text): write NAME=TEXT, for example printer=Printer in the hall.")
      }
      titles[try DeviceArgument.name(String(parts[0]))] = title.text
    }
    return titles
  }
}

/// A device as an argument: `NAME=LINK,LINK`, or the name of a link that byway links lists.
struct DeviceArgument {
  let name: String
  let links: [String]

  /// Reads an argument. A comma belongs to a link unless another link follows it.
  /// - Parameters:
  ///   - schemes: The schemes of links.
  ///   - names: The names of links.
  /// - Throws: ``CommandFailure``
  init(_ text: String, schemes: [String], names: Set<String>) throws(CommandFailure) {
    let equals = text.firstIndex(of: "=")
    name = String(text[..<(equals ?? text.endIndex)])
    let value = equals.map { String(text[text.index(after: $0)...]) } ?? text
    guard !name.isEmpty, !value.isEmpty, equals != nil || ShortName.isValid(text) else {
      throw CommandFailure(
        .usage, "--device \(text): write NAME=LINK, for example printer=serial:/dev/ttyUSB0, or the name of a link.")
    }
    var links: [String] = []
    for part in value.split(separator: ",", omittingEmptySubsequences: false) {
      let begins = links.isEmpty || (Self.isLink(part, schemes, names) && !(links.last ?? "").hasPrefix("exec:"))
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

  private static func isLink(_ text: Substring, _ schemes: [String], _ names: Set<String>) -> Bool {
    if let colon = text.firstIndex(of: ":") { return schemes.contains(text[..<colon].lowercased()) }
    return names.contains(String(text.prefix { $0 != "?" }))
  }
}
