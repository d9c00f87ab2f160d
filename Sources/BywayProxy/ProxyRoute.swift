package import Byway
import BywayDevices
import BywayHTTPWire
package import HTTPTypes

/// The way of a request through a proxy, from its configuration alone, for an explanation.
package struct ProxyRoute: Sendable {
  package enum Target: Sendable {
    /// The default device.
    case main
    /// The list of devices.
    case frontPage
    /// A device, with its links if the configuration has them.
    case device(DeviceName, [Link])
    /// The server that the URL names, which the gateway of the default device may reach.
    case elsewhere
  }

  /// The form in which a client sends it.
  package enum Form: Sendable {
    /// To the proxy itself, as to a web server.
    case direct
    /// With an absolute URL, by a client that uses the proxy as its proxy.
    case absolute
    /// In a tunnel of CONNECT, which the proxy does not read.
    case tunnel
    /// In such a tunnel, decrypted here.
    case decrypted
  }

  package let target: Target
  package let form: Form
  /// The head that the interceptors get.
  package let head: HTTPRequest
}

extension ProxyConfiguration {
  /// Returns the way of a request with an absolute URL.
  /// - Throws: `BywayError` with the reason if the proxy refuses it.
  package func route(of request: HTTPRequest) throws -> ProxyRoute {
    let rules = try IngressRules(self).hosts
    let named = try Authority(request.authority ?? "")
    let place = try? listen.address.hostPort()
    let port = place?.port
    // A Unix socket has no port and no name: a client chooses the form.
    let isOwn = rules.isOwn(named, isSecret: request.scheme == "https") || rules.meaning(of: named) != nil
    let isDirect = isOwn && (port == nil || named.port(for: request.scheme ?? "http").map { Int($0) } == port)
    var sent = request
    var form = ProxyRoute.Form.direct
    if !isDirect {
      form = .absolute
      if request.scheme == "https" {
        form = termination?.terminates(named.host) == true ? .decrypted : .tunnel
        let port = named.port ?? 443
        sent = HTTPRequest(method: .connect, scheme: nil, authority: "\(Authority(named.host, port: port))", path: nil)
      }
    }
    var head = ExchangeHead(fields: FieldSection(sent), isComplete: true)
    if form == .absolute { head.append(.targetForm, "absolute") }
    let found = try rules.target(of: &head, port: port)
    let target: ProxyRoute.Target =
      switch found {
      case .proxy: devices.main.isEmpty ? .frontPage : .main
      case .frontPage: .frontPage
      case .device(let name): .device(name, devices[name]?.links ?? [])
      case .elsewhere: .elsewhere
      }
    return ProxyRoute(target: target, form: form, head: form == .tunnel ? sent : request)
  }
}
