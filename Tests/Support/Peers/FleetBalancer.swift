import Foundation
package import TestTools

/// HAProxy in front of three hubs with the configuration of `examples/fleet`. Several balancers share their tables.
package final class FleetBalancer: Sendable {
  /// The addresses of a fleet's parts.
  package struct Places: Sendable {
    package let hubs: [(devices: Endpoint, users: Endpoint)]
    fileprivate let peers: [Endpoint]

    package init() throws {
      hubs = try (0..<3).map { _ in try (.tcp(Endpoint.freePort()), .tcp(Endpoint.freePort())) }
      peers = try (0..<2).map { _ in try .tcp(Endpoint.freePort()) }
    }

    fileprivate var environment: [String: String] {
      var variables = ["LB1": "\(peers[0])", "LB2": "\(peers[1])"]
      for (number, hub) in hubs.enumerated() {
        variables["HUB\(number + 1)_DEVICES"] = "\(hub.devices)"
        variables["HUB\(number + 1)_USERS"] = "\(hub.users)"
      }
      return variables
    }
  }

  package let devices: Endpoint
  package let users: Endpoint
  private let process: ChildProcess
  private let admin: String

  private static let configuration = URL(filePath: #filePath).appending(path: "../../../../examples/fleet/haproxy.cfg")
    .standardizedFileURL.path

  /// - Parameter number: 1 or 2.
  package init(_ number: Int, before places: Places, in folder: TemporaryFolder) async throws {
    devices = try .tcp(Endpoint.freePort())
    users = try .tcp(Endpoint.freePort())
    var environment = places.environment
    environment["DEVICES"] = "\(devices)"
    environment["USERS"] = "\(users)"
    admin = folder["lb\(number)"]
    environment["ADMIN"] = admin
    environment["MAXCONN"] = "200"
    process = try ChildProcess(
      Program.haproxy.path(), ["-db", "-L", "lb\(number)", "-f", Self.configuration], environment: environment)
    try await users.waitUntilReachable(by: process)
  }

  /// Waits until the balancer considers a hub up. It may have missed that the hub was down.
  package func waitUntilUp(hub number: Int) async throws {
    let isUp = try await eventually {
      try await knowledge().split(separator: "\n").contains { line in
        let columns = line.split(separator: " ")
        // The operational state; 2 is running.
        return columns.count > 5 && columns[1] == "devices" && columns[3] == "hub\(number + 1)" && columns[5] == "2"
      }
    }
    if !isUp { throw PeerFailure("hub \(number + 1) is not up: \(try await knowledge())") }
  }

  /// Waits until the balancer has received its peer's table. Until then, the peer may resend entries that have changed since.
  package func waitUntilLearned() async throws {
    let isDone = try await eventually {
      // HAProxy's flags: bit 0, learned from the previous process; bit 1, learned from the peer.
      let match = try await knowledge().firstMatch(of: /id=fleet disabled=0 flags=0x([0-9a-f]+)/)
      return match.flatMap { Int($0.1, radix: 16) }.map { $0 & 3 == 3 } ?? false
    }
    if !isDone { throw PeerFailure("HAProxy has not heard from its peer: \(try await knowledge())") }
  }

  /// Returns HAProxy's tables of devices, hubs and its peer, for error messages.
  package func knowledge() async throws -> String {
    let ask = """
      import socket, sys
      for words in ["show table devices", "show servers state devices", "show peers"]:
          with socket.socket(socket.AF_UNIX) as admin:
              admin.connect(sys.argv[1])
              admin.sendall(words.encode() + b"\\n")
              admin.settimeout(5)
              while data := admin.recv(65536): sys.stdout.buffer.write(data)
      """
    return try await Program.python.run(["-c", ask, admin], within: .seconds(10)).text
  }

  package func stop() async {
    await process.stop()
  }
}
