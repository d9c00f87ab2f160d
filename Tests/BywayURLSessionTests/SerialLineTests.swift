import Byway
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import BywayURLSession
import Foundation
import FoundationNetworking
import SerialTransport
import TestPeers
import TestTools
import Testing

@Suite(.timeLimit(.minutes(2))) struct SerialLineTests {
  @Test("URLSession reaches an nginx over a serial line with bit errors: pages, redirects, logins, files")
  func nginx() async throws {
    let folder = try TemporaryFolder()
    let text = try folder.write((0..<5000).map { "\($0)\n" }.joined(), to: "long.txt")
    let users = try folder.write("admin:{PLAIN}secret\n", to: "users")
    let nginx = try await NginxServer(
      in: folder,
      locations: """
        location = /moved { return 302 /hello; }
        location /secret/ { auth_basic "panel"; auth_basic_user_file \(users); alias \(folder.path)/; }
        """)
    let line = try PseudoTerminalLine(
      LineConfiguration(baud: 460_800, faults: [BitFlips(rate: 1e-5)]), paths: (folder["near"], folder["far"]))
    defer { line.close() }
    let transports = TransportRegistry([SerialTransport()])
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [transports.link("serial:\(folder["far"])?baud=460800")], origin: try Origin("http://\(nginx.endpoint)"))
    )
    let client = BywayClient(try transports.link("serial:\(folder["near"])?baud=460800"))
    let bridge = try Bridge([Route(Rig.scope, over: client)])
    let session = URLSession(configuration: .byway(bridge))

    let (hello, response) = try await session.data(from: .device("/hello"))
    #expect(hello.text == "hello, byway\n")
    #expect(response.http?.value(forHTTPHeaderField: "Server")?.hasPrefix("nginx") == true)
    let (moved, _) = try await session.data(from: .device("/moved"))
    #expect(moved.text == "hello, byway\n")
    let long = try await session.data(from: .device("/long.txt")).0
    #expect(long == FileManager.default.contents(atPath: text))

    let observer = TaskObserver()
    observer.challenge = { _ in
      (.useCredential, URLCredential(user: "admin", password: "secret", persistence: .forSession))
    }
    let secret = try await session.data(from: .device("/secret/users"), delegate: observer).0
    #expect(secret.text == "admin:{PLAIN}secret\n")
    #expect(observer.events.first == "challenge Basic device:80 panel 0")

    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    await nginx.stop()
  }
}
