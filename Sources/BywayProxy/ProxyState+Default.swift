import Byway
import BywayHTTPWire

extension ProxyState {
  /// Gives a request on a Unix socket the default device's name if it names no known device. Programs send any name there,
  /// because a socket has none: `api.moby.localhost`, `d`.
  ///
  /// If the proxy has users, an unknown name stays unknown, because the answer would reveal which names exist.
  /// - Throws: `BywayError` with code `misdirected` if there are several devices and none is the default.
  func settleName(of request: inout ExchangeHead) throws(BywayError) {
    let directory = devices.directory
    guard !directory.isUnnamed, terms.users == nil, !request.isAbsolute, request.kind != .connect,
      let named = request.authority
    else { return }
    let hosts = terms.rules.hosts
    if hosts.isOwn(named, isSecret: request.scheme == .https) { return }
    let meaning = hosts.meaning(of: named)
    switch meaning {
    case .frontPage: return
    case .device(let name) where devices.has(name): return
    case .device, .notAName, nil: break
    }
    if let authority = directory.defaultAuthority {
      request.set(.authority, authority)
    } else if meaning == nil {
      let text = request.fields.value(of: .authority) ?? ""
      throw BywayError(
        .misdirected,
        "No device is called \"\(text)\", and there is no default device: write NAME.localhost instead.",
        processing: .none)
    }
  }
}
