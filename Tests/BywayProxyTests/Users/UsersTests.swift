import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore
import TestTools
import TestWire
import Testing

@testable import BywayProxy

/// Users of a proxy, identified by password or by a reverse proxy.
@Suite("Users of a proxy", .timeLimit(.minutes(1)), .cleansUp) struct UsersTests {
  @Test("a user reaches the devices they have rights for, and no others")
  func rights() async throws {
    let house = try await UserHouse()
    #expect(try await house.get(of: "printer", as: "alice").contains("this is the printer"))
    #expect(try await house.get(of: "lobby", as: "alice").contains("this is the lobby"))
    #expect(try await house.get(of: "camera", as: "bob").contains("this is the camera"))
    for (user, device) in [("alice", "camera"), ("bob", "printer")] {
      let answer = try await house.get(of: device, as: user)
      #expect(answer.hasPrefix("HTTP/1.1 403") && !answer.contains("this is"), "\(answer)")
    }
  }

  @Test("a forbidden device gets the same response as an unknown one")
  func hidden() async throws {
    let house = try await UserHouse()
    var answers: [String] = []
    for device in ["camera", "cameraa", "nothing"] {
      let answer = try await house.get(of: device, as: "alice")
      answers.append(answer.replacing(device, with: "it").split(separator: "\r\n\r\n").last.map(String.init) ?? "")
    }
    #expect(Set(answers).count == 1, "\(answers)")
    // The suggested name is one of the user's own devices.
    #expect(try await house.get(of: "primter", as: "alice").contains("Did you mean \\\"printer\\\"?"))
    #expect(try await house.get(of: "primter", as: "carol").contains("HTTP/1.1 403"))
  }

  @Test(
    "a missing or wrong login is challenged in every form of request",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: printer.localhost", "401", "WWW-Authenticate"),
      ("GET / HTTP/1.1\r\nHost: nothing.localhost", "401", "WWW-Authenticate"),
      ("GET / HTTP/1.1\r\nHost: localhost", "401", "WWW-Authenticate"),
      ("GET /devices.json HTTP/1.1\r\nHost: byway.localhost", "401", "WWW-Authenticate"),
      ("GET http://printer.localhost/ HTTP/1.1\r\nHost: printer.localhost", "407", "Proxy-Authenticate"),
      ("CONNECT printer.localhost:80 HTTP/1.1\r\nHost: printer.localhost:80", "407", "Proxy-Authenticate"),
      ("CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443", "407", "Proxy-Authenticate"),
      (
        "OPTIONS / HTTP/1.1\r\nHost: printer.localhost\r\nMax-Forwards: 0", "401", "WWW-Authenticate"
      ),
      (
        "GET / HTTP/1.1\r\nHost: printer.localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13"
          + "\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "401", "WWW-Authenticate"
      ),
    ])
  func asked(head: String, status: String, field: String) async throws {
    let house = try await UserHouse()
    let name = status == "401" ? "Authorization" : "Proxy-Authorization"
    let wrong = [
      "", "\r\n\(name): \(UserHouse.basic("alice", "wrong"))", "\r\n\(name): \(UserHouse.basic("mallory"))",
      "\r\n\(name): Bearer x", "\r\n\(name): Basic", "\r\n\(name): Basic !",
      "\r\n\(name): \(UserHouse.basic("alice"))=",
      "\r\n\(name): \(UserHouse.basic("alice", "secret\u{0}"))", "\r\n\(name): \(UserHouse.basic("alice\u{0}x"))",
      "\r\n\(name): Basic \(Base64.encode("alice".utf8))",
      "\r\n\(name): \(UserHouse.basic("alice")), \(UserHouse.basic("bob"))",
    ]
    for login in wrong {
      let answer = try await house.exchange(head + login)
      #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(login): \(answer)")
      #expect(answer.lowercased().contains("\(field.lowercased()): basic realm=\"devices\", charset=\"utf-8\""))
      #expect(answer.lowercased().contains("cache-control: no-store"))
    }
    await house.stop()
  }

  @Test("the proxy's login is not forwarded to the device in any spelling, and the device's own login is")
  func takenOff() async throws {
    let house = try await UserHouse()
    let login = UserHouse.basic("alice").replacing("Basic", with: "bAsIc")
    let direct = try await house.exchange(
      "GET / HTTP/1.1\r\nHost: printer.localhost\r\naUTHORIZATION: \(login)\r\nX: y")
    #expect(direct.contains("this is the printer") && direct.contains("\nx: y"))
    #expect(!direct.lowercased().contains("authorization"))
    let proxied = try await house.exchange(
      "GET http://printer.localhost/ HTTP/1.1\r\nHost: printer.localhost\r\nProxy-Authorization: \(login)\r\n"
        + "Authorization: Basic ZGV2aWNlOm93bg==")
    #expect(proxied.contains("this is the printer") && proxied.contains("uthorization: Basic ZGV2aWNlOm93bg=="))
    #expect(!proxied.lowercased().contains("proxy-authorization:"))
    let twice = try await house.exchange(
      "GET http://printer.localhost/ HTTP/1.1\r\nHost: printer.localhost\r\nProxy-Authorization: \(login)\r\n"
        + "Authorization: \(login)")
    #expect(twice.contains("this is the printer") && !twice.lowercased().contains("authorization"))
  }

  @Test("two logins in one request are refused")
  func twice() async throws {
    let house = try await UserHouse()
    let (alice, bob) = (UserHouse.basic("alice"), UserHouse.basic("bob"))
    let answer = try await house.exchange(
      "GET / HTTP/1.1\r\nHost: printer.localhost\r\nAuthorization: \(alice)\r\nauthorization: \(bob)")
    #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
  }

  @Test("a login in trailers is ignored and not forwarded")
  func trailers() async throws {
    let house = try await UserHouse()
    let chunks = "3\r\nabc\r\n0\r\nAuthorization: \(UserHouse.basic("alice"))\r\nX-Note: kept\r\n\r\n"
    let without = try await house.exchange(
      "POST / HTTP/1.1\r\nHost: printer.localhost\r\nTE: trailers\r\nTransfer-Encoding: chunked", body: chunks)
    #expect(without.hasPrefix("HTTP/1.1 401"), "\(without)")
    let with = try await house.exchange(
      "POST / HTTP/1.1\r\nHost: printer.localhost\r\nTransfer-Encoding: chunked\r\nAuthorization: \(UserHouse.basic("alice"))",
      body: chunks)
    #expect(with.contains("with 3 bytes") && with.contains("trailer x-note: kept"), "\(with)")
    #expect(!with.lowercased().contains("authorization"), "\(with)")
  }

  @Test("a body that arrives during the password check is not lost")
  func bodyBeforeLogin() async throws {
    let house = try await UserHouse()
    let client = try await house.wire()
    try await client.send(
      "POST / HTTP/1.1\r\nHost: printer.localhost\r\nContent-Length: 300000\r\nAuthorization: \(UserHouse.basic("alice"))\r\n"
        + "Connection: close\r\n\r\n")
    client.offer(ByteBuffer(repeating: UInt8(ascii: "x"), count: 300_000))
    #expect(try await client.receiveToEnd().contains("with 300000 bytes"))
  }

  @Test("a tunnel is authorized once, for its user and its device only")
  func tunnel() async throws {
    let house = try await UserHouse()
    let client = try await house.wire()
    let login = "Proxy-Authorization: \(UserHouse.basic("alice"))"
    try await client.send("CONNECT printer.localhost:80 HTTP/1.1\r\nHost: printer.localhost:80\r\n\(login)\r\n\r\n")
    #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
    try await client.send("GET / HTTP/1.1\r\nHost: printer.localhost\r\nAuthorization: Basic ZGV2aWNlOm93bg==\r\n\r\n")
    #expect(try await client.receive(through: "ZGV2aWNlOm93bg==").contains("this is the printer"))
    try await client.send(
      "GET / HTTP/1.1\r\nHost: printer.localhost\r\nAuthorization: \(UserHouse.basic("alice"))\r\nX: last\r\n\r\n")
    #expect(try await !client.receive(through: "x: last").lowercased().contains("authorization"))
    try await client.send("GET / HTTP/1.1\r\nHost: lobby.localhost\r\nConnection: close\r\n\r\n")
    #expect(try await client.receiveToEnd().contains("HTTP/1.1 421"))
    let other = try await house.exchange(
      "CONNECT camera.localhost:80 HTTP/1.1\r\nHost: camera.localhost:80\r\n\(login)")
    #expect(other.hasPrefix("HTTP/1.1 403"), "\(other)")
  }

  @Test("the default device and the gateway's other destinations need separate rights")
  func defaultDevice() async throws {
    let house = try await UserHouse(hasMain: true)
    func ask(_ head: String, as user: String) async throws -> String {
      try await house.exchange(
        "\(head)\r\nAuthorization: \(UserHouse.basic(user))\r\nProxy-Authorization: \(UserHouse.basic(user))")
    }
    for head in [
      "GET / HTTP/1.1\r\nHost: localhost", "GET / HTTP/1.1\r\nHost: 127.0.0.1",
      "GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example",
      "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443",
    ] {
      let refused = try await ask(head, as: "alice")
      #expect(refused.hasPrefix("HTTP/1.1 403") && refused.contains("no default device"), "\(head): \(refused)")
    }
    #expect(try await ask("GET / HTTP/1.1\r\nHost: localhost", as: "carol").contains("this is the printer"))
    #expect(
      try await ask("GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example", as: "carol")
        .contains("This gateway does not reach"))
  }

  @Test("the device list contains the user's own devices, as a page, as JSON and as events")
  func lists() async throws {
    let house = try await UserHouse()
    for (user, mine, others) in [
      ("alice", ["printer", "lobby"], ["camera"]), ("bob", ["camera", "lobby"], ["printer"]),
    ] {
      for path in ["/", "/devices.json"] {
        let list = try await house.exchange(
          "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(UserHouse.basic(user))")
        for name in mine { #expect(list.contains("\(name).localhost"), "\(path): \(list)") }
        for name in others { #expect(!list.contains(name), "\(path): \(list)") }
      }
      let client = try await house.wire()
      try await client.send(
        "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(UserHouse.basic(user))\r\n\r\n")
      let events = try await client.receive(through: "\n\n")
      for name in others { #expect(!events.contains(name)) }
      client.close()
    }
  }

  @Test("a response cached for one user is not served to another")
  func cache() async throws {
    for kind in [CacheKind.shared, .private] {
      var configuration = Cache.Configuration.defaults
      configuration.kind = kind
      let house = try await UserHouse(interceptors: [Cache(configuration: configuration)])
      func status(_ user: String) async throws -> String? {
        try await house.get("/kept", of: "lobby", as: user).split(separator: "\r\n")
          .first { $0.lowercased().hasPrefix("cache-status") }.map { $0.contains("hit") ? "hit" : "miss" }
      }
      #expect(try await status("alice") == "miss")
      #expect(try await eventually { try await status("alice") == "hit" })
      #expect(try await status("bob") == "miss")
    }
  }

  @Test("a request that an interceptor sends to another device is not authorized as the user")
  func sentElsewhere() async throws {
    let house = try await UserHouse(interceptors: [Detour()])
    let answer = try await house.get("/detour", of: "printer", as: "alice")
    #expect(answer.hasPrefix("HTTP/1.1 403") && !answer.contains("this is"), "\(answer)")
    #expect(try await house.get("/detour", of: "lobby", as: "bob").contains("this is the camera"))
  }

  /// An interceptor that sends requests for one path to the camera.
  private struct Detour: Interceptor {
    var scope: Scope { Scope(paths: ["/detour"]) }

    func intercept(_ request: Request, next: Next) async throws -> Response {
      var request = request
      request.head.authority = "camera.localhost"
      return try await next(request)
    }
  }

  // MARK: A reverse proxy

  @Test("on a Unix socket the reverse proxy's field identifies the user, and is not forwarded")
  func header() async throws {
    let house = try await UserHouse(header: "X-Remote-User", passwords: false)
    func ask(_ fields: String, of device: String = "printer") async throws -> String {
      try await house.exchange("GET / HTTP/1.1\r\nHost: \(device).devices.example\r\n\(fields)")
    }
    let answer = try await ask(
      "x-remote-USER: alice\r\nX_Remote_User: root\r\nx.remote.user: root\r\nX~Remote!User: root\r\nAuthorization: Bearer own"
    )
    #expect(answer.contains("this is the printer") && answer.contains("Bearer own"), "\(answer)")
    #expect(!answer.lowercased().contains("remote"), "\(answer)")
    let login = try await ask(
      "X-Remote-User: alice\r\nAuthorization: \(UserHouse.basic("alice", "of the reverse proxy"))")
    #expect(login.contains("this is the printer") && !login.lowercased().contains("authorization"), "\(login)")
    #expect(try await ask("X-Remote-User: alice", of: "camera").hasPrefix("HTTP/1.1 403"))
    for hostile in [
      "X-Remote-User: ", "X_Remote_User: alice", "X-Remote-User: al\u{200B}ice", "X-Remote-User: bob, alice",
      "X-Remote-User: *", "X-Other: alice", "Authorization: \(UserHouse.basic("alice"))",
    ] {
      #expect(try await ask(hostile).hasPrefix("HTTP/1.1 403"), "\(hostile)")
    }
    #expect(try await ask("X-Remote-User: alice\r\nX-Remote-User: bob").hasPrefix("HTTP/1.1 400"))
    #expect(try await ask("X-Remote-User: alice\r\nx-remote-user: alice").hasPrefix("HTTP/1.1 400"))
  }

  @Test("with user rights, an unknown name on a Unix socket does not reach the default device")
  func unknownNameOnUnix() async throws {
    let house = try await UserHouse(header: "X-Remote-User", passwords: false, hasMain: true)
    for (name, status) in [("nothing.localhost", "403"), ("a.b.localhost", "421"), ("localhost", "200")] {
      let answer = try await house.exchange("GET / HTTP/1.1\r\nHost: \(name)\r\nX-Remote-User: carol")
      #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(name): \(answer)")
    }
  }

  @Test("on other listeners the reverse proxy's field is removed and ignored")
  func headerElsewhere() async throws {
    let house = try await UserHouse()
    var rules = try UserHouse.rules(rights: UserHouse.rights)
    rules.header = try UserHeader("X-Remote-User")
    try await house.reload(rules)
    let field = "X-Remote-User: carol\r\nX_REMOTE_USER: carol"
    #expect(
      try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost\r\n\(field)").hasPrefix("HTTP/1.1 401"))
    let answer = try await house.exchange(
      "GET / HTTP/1.1\r\nHost: printer.localhost\r\n\(field)\r\nAuthorization: \(UserHouse.basic("alice"))")
    #expect(answer.contains("this is the printer") && !answer.lowercased().contains("remote"), "\(answer)")
  }

  @Test("behind a reverse proxy, foreign pages are detected by the forwarded scheme")
  func pages() async throws {
    let house = try await UserHouse(header: "X-Remote-User", passwords: false)
    func post(from origin: String, _ more: String = "") async throws -> String {
      try await house.exchange(
        "POST / HTTP/1.1\r\nHost: printer.devices.example\r\nX-Remote-User: alice\r\nOrigin: \(origin)\r\nContent-Length: 0\(more)"
      )
    }
    #expect(try await post(from: "https://evil.example").hasPrefix("HTTP/1.1 403"))
    #expect(
      try await post(from: "https://camera.devices.example", "\r\nX-Forwarded-Proto: https").hasPrefix("HTTP/1.1 403"))
    #expect(
      try await post(from: "https://printer.devices.example", "\r\nX-Forwarded-Proto: https").hasPrefix("HTTP/1.1 200"))
    #expect(try await post(from: "http://printer.devices.example").hasPrefix("HTTP/1.1 200"))
  }

  @Test("a login of this proxy is not forwarded to the device, even if a field identifies the user")
  func ownLogin() async throws {
    let house = try await UserHouse(header: "X-Remote-User")
    func ask(_ user: String, _ password: String) async throws -> String {
      try await house.exchange(
        "GET / HTTP/1.1\r\nHost: lobby.devices.example\r\nX-Remote-User: erin\r\nAuthorization: \(UserHouse.basic(user, password))"
      )
    }
    #expect(try await !ask("carol", "secret").lowercased().contains("authorization:"))
    #expect(try await !ask("erin", "own").lowercased().contains("authorization:"))
    #expect(try await ask("device", "own").lowercased().contains("authorization: basic"))
  }

  // MARK: Reloads

  @Test("a reload that removes a right affects the next request and running ones")
  func rightGone() async throws {
    let house = try await UserHouse()
    let tunnel = try await house.wire()
    let login = UserHouse.basic("alice")
    try await tunnel.send(
      "CONNECT printer.localhost:80 HTTP/1.1\r\nHost: printer.localhost:80\r\nProxy-Authorization: \(login)\r\n\r\n")
    _ = try await tunnel.receive(through: "\r\n\r\n")
    let held = try await house.wire()
    try await held.send("GET /held HTTP/1.1\r\nHost: printer.localhost\r\nAuthorization: \(login)\r\n\r\n")
    _ = try await held.receive(through: "begun")
    let other = try await house.wire()
    try await other.send("GET /held HTTP/1.1\r\nHost: lobby.localhost\r\nAuthorization: \(login)\r\n\r\n")
    _ = try await other.receive(through: "begun")

    try await house.reload(UserHouse.rules(rights: "alice = camera\n* = lobby"))
    _ = try await tunnel.receiveToEnd()
    _ = try await held.receiveToEnd()
    #expect(try await house.get(of: "printer", as: "alice").hasPrefix("HTTP/1.1 403"))
    #expect(try await house.get(of: "camera", as: "alice").contains("this is the camera"))
    // Exchanges of remaining rights continue.
    try await house.reload(UserHouse.rules(rights: "* = lobby"))
    try await house.reload(UserHouse.rules(rights: "* = printer"))
    _ = try await other.receiveToEnd()
  }

  @Test("a reload that changes a password requires a new login, and ends exchanges of the old one")
  func passwordGone() async throws {
    let house = try await UserHouse()
    let held = try await house.wire()
    try await held.send(
      "GET /held HTTP/1.1\r\nHost: printer.localhost\r\nAuthorization: \(UserHouse.basic("alice"))\r\n\r\n")
    _ = try await held.receive(through: "begun")
    var rules = try UserHouse.rules(rights: UserHouse.rights)
    rules.passwords = try PasswordFile(
      "alice:$2y$04$.edvUiZijzoracFCS.d0b.Q72r5Y7CY7xNc3zMfjV6VEZVIEZDrLW", named: "users")
    try await house.reload(rules)
    _ = try await held.receiveToEnd()
    #expect(try await house.get(of: "printer", as: "alice").hasPrefix("HTTP/1.1 401"))
    #expect(try await house.get(of: "printer", as: "alice", "other").contains("this is the printer"))
  }

  @Test("when a reload introduces user rights, tunnels opened before are refused")
  func rulesComing() async throws {
    let house = try await UserHouse()
    try await house.reload(nil)
    let tunnel = try await house.tunnel(to: "printer.localhost:80")
    try await house.reload(UserHouse.rules(rights: "* = *"))
    try await tunnel.send("GET / HTTP/1.1\r\nHost: printer.localhost\r\nConnection: close\r\n\r\n")
    #expect(try await tunnel.receiveToEnd().contains("HTTP/1.1 403"))
  }

  // MARK: The audit log

  @Test("the audit log records each user's use of devices, and refusals")
  func audit() async throws {
    let house = try await UserHouse()
    for _ in 0..<3 { _ = try await house.get(of: "printer", as: "alice") }
    _ = try await house.get(of: "camera", as: "alice")
    _ = try await house.get(of: "printer", as: "alice", "wrong")
    _ = try await house.exchange("GET / HTTP/1.1\r\nHost: printer.localhost")
    await house.stop()
    let printer = Resource.device(try #require(DeviceName("printer")))
    let camera = Resource.device(try #require(DeviceName("camera")))
    let events = house.audit.events
    #expect(events.count == 4, "\(events)")
    #expect(events.first == .began(.init(name: "alice", proof: .password, peer: "127.0.0.1"), printer))
    #expect(
      events.contains(.refused(.init(reason: .noRight, name: "alice", resource: camera, peer: "127.0.0.1"), times: 1)))
    #expect(
      events.contains(
        .refused(.init(reason: .wrongLogin, name: "alice", resource: printer, peer: "127.0.0.1"), times: 1)))
    guard case .ended(_, printer, requests: 3, _)? = events.last else {
      Issue.record("\(events)")
      return
    }
  }

  @Test("the audit log does not record use of a device that is not connected")
  func auditOfNothing() async throws {
    let house = try await UserHouse()
    for number in 0..<20 { _ = try await house.get(of: "n\(number)", as: "carol") }
    await house.stop()
    #expect(house.audit.events.isEmpty, "\(house.audit.events)")
  }

  @Test("a client that sends wrong passwords must wait, and others are not delayed")
  func paused() async throws {
    let house = try await UserHouse()
    #expect(try await house.get(of: "printer", as: "alice").contains("this is"))
    var answer = ""
    // On a slow machine the first pauses end before the next attempt; later ones are longer.
    for attempt in 0..<40 where !answer.hasPrefix("HTTP/1.1 429") {
      answer = try await house.get(of: "camera", as: "bob", "wrong\(attempt)")
    }
    #expect(answer.hasPrefix("HTTP/1.1 429") && answer.lowercased().contains("retry-after: "), "\(answer)")
    #expect(try await house.get(of: "printer", as: "alice").contains("this is"))
    #expect(try await house.get(of: "lobby", as: "carol").contains("this is"))
  }
}
