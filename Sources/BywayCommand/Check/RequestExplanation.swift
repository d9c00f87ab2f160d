import Byway
import BywayGateway
import BywayHTTPWire
import BywayInterceptors
import BywayPlugins
import BywayPrimitives
import BywayProxy
import BywayTerminal
import HTTPTypes

/// The way of a request through a configuration, as text: its interceptors in their order, the rules for its client, and its target.
struct RequestExplanation {
  private let request: HTTPRequest
  private let transports: TransportRegistry

  /// - Throws: ``CommandFailure`` if the URL or the method is invalid.
  init(url: String, method: String, _ transports: TransportRegistry) throws {
    guard let method = HTTPRequest.Method(rawValue: method) else {
      throw CommandFailure(.usage, "--method: \"\(method.visible)\" is not a method: write GET, for example.")
    }
    do {
      request = try Request(method, url: url).head
    } catch {
      throw CommandFailure(.usage, "--explain: \(error.asFailure.message)")
    }
    guard ["http", "https"].contains(request.scheme) else {
      throw CommandFailure(.usage, "--explain: write a URL of http:// or https://.")
    }
    self.transports = transports
  }

  private var url: String { "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")" }

  func lines(of plan: CommandPlan<GatewayCommand>) throws -> [String] {
    try text(plan) { lines(ofGateway: $0.configuration, try chain(of: $0), plan) }
  }

  func lines(of plan: CommandPlan<ProxyCommand>) throws -> [String] {
    try text(plan) { lines(ofProxy: $0.configuration, $0.options, try chain(of: $0), plan) }
  }

  private func text<Command>(
    _ plan: CommandPlan<Command>, _ lines: (CommandPlan<Command>.Member) throws -> [String]
  ) rethrows -> [String] {
    var all = ["\(request.method.rawValue) \(url.visible)"]
    for (name, member) in plan.members {
      if !name.isEmpty { all.append("[\(Command.Member.kind) \(name)]") }
      all += try lines(member).map { "  \($0)" }
    }
    return all
  }

  // MARK: The chain

  private typealias Chain = [(name: String, plugin: PluginArgument?)]

  private func chain(of member: CommandPlan<GatewayCommand>.Member) throws -> Chain {
    try member.options.interceptors.chain(at: .gateway, hasCache: false, in: transports)
  }

  private func chain(of member: CommandPlan<ProxyCommand>.Member) throws -> Chain {
    try member.options.interceptors.chain(at: .client, hasCache: member.options.cache != nil, in: transports)
  }

  /// - Parameters:
  ///   - head: The request as the interceptors get it.
  ///   - hosts: The hosts whose https is decrypted; empty: none.
  private func lines(of chain: Chain, for head: HTTPRequest, hasFaults: Bool, hosts: [String] = []) -> [String] {
    var entries = chain.map { entry in
      guard let plugin = entry.plugin else { return "\(entry.name): every request, applies" }
      let scope = plugin.settings.scope
      return
        "\(entry.name), a plugin at \(plugin.link.address.publicName): \(Self.text(of: scope)), \(verdict(plugin, head))"
    }
    if hasFaults { entries.insert("faults of the inspector: while its user injects some", at: 0) }
    if !hosts.isEmpty {
      let scope = Scope(schemes: ["https"], hosts: hosts)
      let place = entries.count - (chain.last?.name == "compress" ? 1 : 0)
      let entry = "https to \(hosts.joined(separator: ", ")): \(scope.contains(head) ? "applies" : "does not apply")"
      entries.insert(entry, at: place)
    }
    if entries.isEmpty { return ["interceptors: none"] }
    return ["interceptors, in their order:"] + entries.enumerated().map { "  \($0 + 1). \($1)" }
  }

  private func verdict(_ plugin: PluginArgument, _ head: HTTPRequest) -> String {
    let scope = plugin.settings.scope
    if head.kind == .connect, !scope.methods.contains(.connect) {
      return "does not apply: the bytes of a tunnel pass no plugin"
    }
    if scope.contains(head) { return "applies, on-failure=\(plugin.settings.onFailure.rawValue)" }
    func misses(_ part: Scope) -> Bool { !part.contains(head) }
    let reasons = [
      ("scheme", misses(Scope(schemes: scope.schemes))), ("host", misses(Scope(hosts: scope.hosts))),
      ("path", misses(Scope(paths: scope.paths))), ("method", misses(Scope(methods: scope.methods))),
    ]
    return "does not apply: another \(reasons.filter { $0.1 }.map { $0.0 }.joined(separator: " and "))"
  }

  private static func text(of scope: Scope) -> String {
    let parts = [
      ("scheme", scope.schemes.sorted()), ("host", scope.hosts), ("path", scope.paths),
      ("method", scope.methods.map(\.rawValue).sorted()),
    ]
    let conditions = parts.filter { !$0.1.isEmpty }.map { "\($0.0) \($0.1.joined(separator: " or "))" }
    return conditions.isEmpty ? "every request" : conditions.joined(separator: ", ")
  }

  // MARK: A gateway

  private func lines(
    ofGateway configuration: GatewayConfiguration, _ chain: Chain, _ plan: CommandPlan<GatewayCommand>
  ) -> [String] {
    let links = configuration.links.map(\.address.publicName).joined(separator: ", ")
    let reached = configuration.allowed.map(\.description)
    let rules = reached.isEmpty ? "the origin only" : "the origin and \(reached.joined(separator: ", "))"
    return ["clients: of \(links); they may reach \(rules)"]
      + lines(of: chain, for: request, hasFaults: plan.daemon.observation.inspect != nil)
      + [
        "target of a request to the gateway: \(target(configuration, isAbsolute: false))",
        "target through a proxy that asks for the URL: \(target(configuration, isAbsolute: true))",
      ]
  }

  private func target(_ configuration: GatewayConfiguration, isAbsolute: Bool) -> String {
    do {
      let route = try configuration.route(of: request, isAbsolute: isAbsolute)
      return switch route {
      case .origin: "the origin, \(configuration.origin.text)"
      case .server(let url): "\(url), which --allow permits"
      case .tunnel(let place): "a tunnel to \(place)"
      }
    } catch {
      return "refused. \(error.asFailure.message)"
    }
  }

  // MARK: A proxy

  private func lines(
    ofProxy configuration: ProxyConfiguration, _ options: ProxyOptions, _ chain: Chain,
    _ plan: CommandPlan<ProxyCommand>
  ) -> [String] {
    let clients = "clients: at \(configuration.listen.address.publicName), \(Self.users(of: configuration))"
    let route: ProxyRoute
    do {
      route = try configuration.route(of: request)
    } catch {
      return [clients, "refused. \(error.asFailure.message)"]
    }
    let form =
      switch route.form {
      case .direct: "sent to the proxy itself, as to a web server"
      case .absolute: "sent with its whole URL, by a client that uses the proxy as its proxy"
      case .tunnel: "sent through a tunnel of CONNECT, whose content the proxy does not read"
      case .decrypted: "sent through a tunnel of CONNECT, which is decrypted here (--inspect-tls)"
      }
    let hosts = options.tlsInterception.inspectTLS.flatMap { $0.split(separator: ",") }.map(String.init)
    return [clients, "request: \(form)"]
      + lines(
        of: chain, for: route.head, hasFaults: plan.daemon.observation.inspect != nil, hosts: hosts)
      + ["target: \(Self.target(route, of: configuration))"]
  }

  private static func users(of configuration: ProxyConfiguration) -> String {
    var rules = [configuration.users == nil ? "without a login" : "with a login and the rights of its user"]
    if configuration.listen.address.scheme != "unix" {
      let names = ["localhost"] + configuration.names
      rules.append("as \(names.joined(separator: ", "))")
      let pages = configuration.allowedPages
      rules.append(
        "not for web pages of other origins" + (pages.isEmpty ? "" : " than \(pages.joined(separator: ", "))"))
    }
    return rules.joined(separator: ", ")
  }

  private static func target(_ route: ProxyRoute, of configuration: ProxyConfiguration) -> String {
    func links(_ links: [Link]) -> String { links.map(\.address.publicName).joined(separator: ", or else ") }
    let main = links(configuration.devices.main)
    switch route.target {
    case .main: return "the origin of the gateway at \(main)"
    case .frontPage: return "the proxy's own list of devices"
    case .device(let name, let found) where found.isEmpty:
      return "the device \(name), if it is found, dials, or matches a pattern"
    case .device(let name, let found): return "the device \(name), over \(links(found))"
    case .elsewhere where configuration.devices.main.isEmpty:
      return "refused: there is no default device, whose gateway could reach \(route.head.authority ?? "it")"
    case .elsewhere:
      return "\(route.head.authority ?? "the server"), if the gateway at \(main) may reach it (--allow)"
    }
  }
}
