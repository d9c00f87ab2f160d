import Foundation
package import TestTools

/// HAProxy before three hubs, by the configuration of `examples/fleet`; some of them share what they know.
package final class FleetBalancer: Sendable {
  /// Where a fleet's parts listen.
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

  /// Returns when it sends to a hub; it may not have noticed that this was away.
  package func waitUntilUp(hub number: Int) async throws {
    let isUp = try await eventually {
      try await knowledge().split(separator: "\n").contains { line in
        let columns = line.split(separator: " ")
        // The state of operation; 2 is running.
        return columns.count > 5 && columns[1] == "devices" && columns[3] == "hub\(number + 1)" && columns[5] == "2"
      }
    }
    if !isUp { throw PeerFailure("hub \(number + 1) is not up: \(try await knowledge())") }
  }

  /// Returns when it has learned from its peer what that knows. Until then it may be told again what has changed meanwhile.
  package func waitUntilLearned() async throws {
    let isDone = try await eventually {
      // Two bits of HAProxy's own: learned from the process before it, and from the peer.
      let match = try await knowledge().firstMatch(of: /id=fleet disabled=0 flags=0x([0-9a-f]+)/)
      return match.flatMap { Int($0.1, radix: 16) }.map { $0 & 3 == 3 } ?? false
    }
    if !isDone { throw PeerFailure("HAProxy has not heard from its peer: \(try await knowledge())") }
  }

  /// What it knows of devices, hubs and its peer, for messages.
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
