import CMini

/// The side from which peers come.
enum Link {
  case serial(device: Text, settings: mini_serial)
  case standardStreams
  case listener(mini_address, mode: UInt32)
  /// A hub that is dialed.
  case hub(mini_address, name: Text)
}

/// The command line.
struct Options {
  var link: Link
  var linkText: Text
  var target: mini_address
  /// Milliseconds after which a connection without any bytes is closed.
  var idle: UInt32

  private static var longestPath: Int { 107 }

  /// Reads the arguments, and ends the program if they are wrong.
  init(_ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, count: Int) {
    var link: Link?
    var linkText: Text?
    var target: mini_address?
    var idle: UInt32?
    var deviceName: Text?
    var index = 1
    while index < count, let argument = arguments[index] {
      var (name, value) = Text(argument).split(at: UInt8(ascii: "="))
      if name.equals("--help") || name.equals("-h") { printHelp() }
      if name.equals("--version") { printVersion() }
      Options.checkName(name, whole: Text(argument))
      if value == nil, index + 1 < count, let next = arguments[index + 1] {
        index += 1
        value = Text(next)
      }
      guard let value else { stop(.usage, missingValue(name)) }
      if name.equals("--link") {
        if link != nil { Options.stopRepeated(name) }
        link = Options.link(value)
        linkText = value
      } else if name.equals("--name") {
        if deviceName != nil { Options.stopRepeated(name) }
        Options.checkDeviceName(value)
        deviceName = value
      } else if name.equals("--to") {
        if target != nil { Options.stopRepeated(name) }
        target = Options.target(value)
      } else {
        if idle != nil { Options.stopRepeated(name) }
        idle = value.number(from: 1, to: 86400)
        if idle == nil { stop(.usage, message("--idle: ", value, " is not a number of seconds from 1 to 86400.")) }
      }
      index += 1
    }
    guard let link, let linkText else {
      stop(.usage, message("A link is missing: add --link, for example --link serial:/dev/ttyS0?baud=115200."))
    }
    guard let target else {
      stop(.usage, message("A target is missing: add --to, for example --to tcp://127.0.0.1:80."))
    }
    self.link = Options.named(link, linkText, deviceName)
    self.linkText = linkText
    self.target = target
    self.idle = (idle ?? 300) * 1000
  }

  private static func checkName(_ name: Text, whole: Text) {
    if name.equals("--link") || name.equals("--to") || name.equals("--idle") || name.equals("--name") { return }
    if name.equals("--origin") {
      stop(.usage, message("--origin: byway-mini passes bytes on without reading them: write --to tcp://127.0.0.1:80."))
    }
    var error = message("Unknown argument ")
    error.append(whole)
    error.append(". Try: byway-mini --help")
    stop(.usage, error)
  }

  private static func stopRepeated(_ name: Text) -> Never {
    var error = message("")
    error.append(name)
    error.append(" is given twice: byway-mini has one link and one target. Start a second one for another.")
    stop(.usage, error)
  }

  /// Ends the program if no hub accepts the name.
  private static func checkDeviceName(_ name: Text) {
    var isValid = name.count >= 1 && name.count <= 63
    for index in 0..<name.count {
      let byte = name[index], letter = byte | 0x20
      let isLetter = letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z")
      let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      let isInside = index > 0 && index < name.count - 1
      if !isLetter, !isDigit, byte != UInt8(ascii: "-") || !isInside { isValid = false }
    }
    if isValid, name.count >= 4, name[2] == UInt8(ascii: "-"), name[3] == UInt8(ascii: "-") { isValid = false }
    if name.equals("byway") {
      stop(.usage, message("--name: byway is the name of the list of devices: choose another one."))
    }
    guard isValid else {
      stop(
        .usage,
        message(
          "--name: ", name,
          " is not the name of a device: write up to 63 letters, digits and hyphens, with a letter or digit at both ends."
        ))
    }
  }

  // MARK: - Links

  /// Gives the link its name, and ends the program if one is missing, or one is without use.
  private static func named(_ link: Link, _ text: Text, _ name: Text?) -> Link {
    if case .hub(let address, _) = link {
      guard let name else {
        stop(.usage, message("--link: ", text, " dials a hub, which needs a name: add --name NAME."))
      }
      return .hub(address, name: name)
    }
    if name != nil {
      stop(
        .usage,
        message(
          "--name is for a hub, and ", text,
          " dials none: add open=dial to the link, or give the name to the proxy, with --device NAME=LINK."))
    }
    return link
  }

  /// Returns the link of an address. That of a hub has no name of the board yet.
  private static func link(_ text: Text) -> Link {
    let (address, options) = text.split(at: UInt8(ascii: "?"))
    if address.equals("stdio:") {
      checkOptions(options, of: text) { _, _ in false }
      return .standardStreams
    }
    if let path = address.after("serial:") { return serial(path, options, text) }
    if address.hasPrefix("unix:") {
      var mode: UInt32 = 0
      var dials = false
      checkOptions(options, of: text) { name, value in
        if name.equals("open"), value.equals("dial") {
          dials = true
          return true
        }
        guard name.equals("mode") else { return false }
        guard let permissions = value.number(from: 1, to: 0o777, base: 8) else {
          stop(.usage, message("--link: ", text, ": mode= needs octal digits up to 777, such as 0660."))
        }
        mode = permissions
        return true
      }
      let local = unixAddress(address, "--link: ")
      return dials ? .hub(local, name: text) : .listener(local, mode: mode)
    }
    guard address.hasPrefix("tcp://") else {
      stop(.usage, message("--link: ", text, " is not a link. Known: serial:, stdio:, unix: and tcp://."))
    }
    var isInsecure = false
    var dials = false
    checkOptions(options, of: text) { name, value in
      if name.equals("open"), value.equals("dial") {
        dials = true
        return true
      }
      guard name.equals("insecure"), value.equals("yes") else { return false }
      isInsecure = true
      return true
    }
    let listener = tcpAddress(address, "--link: ", leastPort: dials ? 1 : 0)
    guard isInsecure || listener.is_six != 0 || listener.four.0 == 127 else {
      if dials {
        stop(
          .usage,
          message(
            "--link: ", text,
            " is another machine, and plain TCP protects nothing: dial through ssh -L or stunnel, or add insecure=yes if that is intended."
          ))
      }
      stop(
        .usage,
        message(
          "--link: ", text,
          " is reachable by other machines, and plain TCP protects nothing: use 127.0.0.1, or add ?insecure=yes if that is intended."
        ))
    }
    return dials ? .hub(listener, name: text) : .listener(listener, mode: 0)
  }

  private static func serial(_ path: Text, _ options: Text?, _ text: Text) -> Link {
    if path.hasPrefix("usb:") {
      stop(.usage, message("--link: ", text, ": byway-mini takes the path of a device, such as serial:/dev/ttyUSB0."))
    }
    guard path.hasPrefix("/") || path.hasPrefix("./") else {
      stop(.usage, message("--link: ", text, " has no device: write serial:/dev/ttyS0, or another path with a slash."))
    }
    guard path.count <= longestPath else {
      stop(.usage, message("--link: ", text, " is too long: a path has at most 107 bytes."))
    }
    var settings = mini_serial(baud: 115200, parity: 0, two_stop_bits: 0, rtscts: 0)
    checkOptions(options, of: text) { name, value in
      if name.equals("baud") {
        guard let baud = value.number(from: 1, to: 4_000_000), mini_knows_rate(baud) != 0 else {
          stop(.usage, message("--link: ", text, ": baud= needs a usual rate, such as 9600, 115200 or 921600."))
        }
        settings.baud = baud
        return true
      }
      if name.equals("parity") {
        settings.parity = value.equals("even") ? 1 : value.equals("odd") ? 2 : 0
        return settings.parity != 0 || value.equals("none")
      }
      if name.equals("stopbits") {
        settings.two_stop_bits = value.equals("2") ? 1 : 0
        return value.equals("1") || value.equals("2")
      }
      guard name.equals("flow") else { return false }
      settings.rtscts = value.equals("rtscts") ? 1 : 0
      return value.equals("none") || value.equals("rtscts")
    }
    return .serial(device: path, settings: settings)
  }

  /// Reads options that are separated by `&`.
  private static func checkOptions(_ options: Text?, of link: Text, _ take: (Text, Text) -> Bool) {
    var rest = options
    while let current = rest {
      let (option, behind) = current.split(at: UInt8(ascii: "&"))
      let (name, value) = option.split(at: UInt8(ascii: "="))
      guard let value, take(name, value) else {
        var error = message("--link: ")
        error.append(option)
        error.append(
          " is not an option of this link. Known: baud, parity, stopbits and flow of serial:, mode of unix:, insecure=yes of tcp://, open=dial of both."
        )
        stop(.usage, error)
      }
      rest = behind
    }
  }

  // MARK: - Addresses

  private static func target(_ text: Text) -> mini_address {
    if text.hasPrefix("unix:") { return unixAddress(text, "--to: ") }
    guard text.hasPrefix("tcp://") else {
      stop(.usage, message("--to: ", text, " is not a target: write tcp://127.0.0.1:80 or unix:/run/app.sock."))
    }
    return tcpAddress(text, "--to: ", leastPort: 1)
  }

  private static func unixAddress(_ text: Text, _ option: StaticString) -> mini_address {
    let path = text.dropping(5)
    guard !path.isEmpty else { stop(.usage, message(option, text, " has no path: write unix:/run/app.sock.")) }
    guard path.count <= longestPath else {
      stop(.usage, message(option, text, " is too long: the path of a socket has at most 107 bytes."))
    }
    var address = mini_address()
    address.is_unix = 1
    address.path_length = UInt8(path.count)
    withUnsafeMutableBytes(of: &address.path) { for index in 0..<path.count { $0[index] = path[index] } }
    return address
  }

  private static func tcpAddress(_ text: Text, _ option: StaticString, leastPort: UInt32) -> mini_address {
    let (host, behind) = text.dropping(6).split(at: UInt8(ascii: ":"), last: true)
    guard let behind, let port = behind.number(from: leastPort, to: 65535) else {
      stop(.usage, message(option, text, " has no port: write tcp://HOST:PORT."))
    }
    var address = mini_address()
    address.port = UInt16(port)
    if host.equals("[::1]") {
      address.is_six = 1
      return address
    }
    if host.equals("localhost") {
      address.four = (127, 0, 0, 1)
      return address
    }
    guard let four = fourNumbers(host) else {
      stop(.usage, message(option, text, ": byway-mini looks up no names: write an IPv4 address, [::1] or localhost."))
    }
    address.four = four
    return address
  }

  private static func fourNumbers(_ host: Text) -> (UInt8, UInt8, UInt8, UInt8)? {
    let (first, afterFirst) = host.split(at: UInt8(ascii: "."))
    guard let (second, afterSecond) = afterFirst?.split(at: UInt8(ascii: ".")) else { return nil }
    guard let (third, fourth) = afterSecond?.split(at: UInt8(ascii: ".")) else { return nil }
    guard let a = first.number(from: 0, to: 255), let b = second.number(from: 0, to: 255),
      let c = third.number(from: 0, to: 255),
      let d = fourth?.number(from: 0, to: 255)
    else { return nil }
    return (UInt8(a), UInt8(b), UInt8(c), UInt8(d))
  }
}

private func missingValue(_ name: Text) -> Message {
  var error = message("")
  error.append(name)
  error.append(" needs a value. Try: byway-mini --help")
  return error
}
