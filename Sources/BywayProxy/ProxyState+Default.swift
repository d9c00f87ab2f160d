import Byway
import HTTPWire

extension ProxyState {
  /// Gives a request on a Unix socket the default device's name if it names no known device. Programs send any name there,
  /// because a socket has none: `api.moby.localhost`, `d`.
  ///
  /// If the proxy has users, an unknown name stays unknown, because the answer would reveal which names exist.
  /// - Throws: `BywayError` with code `misdirected` if there are several devices and none is the default.
  func settleName(of fields: inout FieldSection) throws(BywayError) {
    let directory = devices.directory
    guard !directory.isUnnamed, terms.users == nil, !fields.contains(.targetForm), !fields.asksForTunnel,
      let text = fields.value(of: .authority), let named = try? Authority(text)
    else { return }
    let hosts = terms.rules.hosts
    if hosts.isOwn(named, isSecret: fields.isSecret) { return }
    let meaning = hosts.meaning(of: named)
    switch meaning {
    case .frontPage: return
    case .device(let name) where devices.has(name): return
    case .device, .notAName, nil: break
    }
    if let authority = directory.defaultAuthority {
      fields.set(.authority, authority)
    } else if meaning == nil {
      throw BywayError(
        .misdirected,
        "No device is called \"\(text)\", and there is no default device: write NAME.localhost instead.",
        processing: .none)
    }
  }
}
