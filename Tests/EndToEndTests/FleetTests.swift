import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Hubs behind two HAProxies that store the map of devices, as in docs/fleet.md.
  @Suite("Fleet of hubs") struct FleetTests {
    private let names = (1...9).map { "d\($0)" }

    @Test("when a hub is killed, its devices are reached at another, and no response comes from the wrong device")
    func killed() async throws {
      let fleet = try await Fleet(names)
      try await fleet.awaitAll(names)
      let homes = try await fleet.homes(of: names)
      #expect(Set(homes.values).count > 1, "\(homes)")
      let sizes = (0..<3).map { number in homes.values.count { $0 == number } }
      let victim = try #require((0..<3).max { sizes[$0] < sizes[$1] })
      await fleet.kill(victim)
      let lost = names.filter { homes[$0] == victim }
      // Until the devices are back, a request gets an error, and never another device's response.
      try await fleet.awaitAll(lost)
      let moved = try await fleet.homes(of: names)
      #expect(names.allSatisfy { moved[$0] != nil && moved[$0] != victim }, "\(moved)")
      #expect(names.allSatisfy { lost.contains($0) || moved[$0] == homes[$0] })
      try await fleet.awaitKnown(moved)

      // When the hub is back, the devices stay where they are, and remain reachable there.
      try await fleet.startHub(victim)
      for balancer in fleet.balancers { try await balancer.waitUntilUp(hub: victim) }
      try await fleet.awaitAll(names)
      // A connection that names a device without its certificate does not change that.
      for name in lost {
        for balancer in fleet.balancers { try await fleet.knock(at: balancer, as: name) }
      }
      try await fleet.awaitAll(names)
      #expect(try await fleet.homes(of: names) == moved)

      // A hub without the device says so, and does not list its other devices.
      let unknownPeer = try await fleet.get("d10", at: fleet.balancers[0].users)
      #expect(unknownPeer.status == 421)
      #expect(!names.contains { unknownPeer.text.contains("\"\($0)\"") }, "\(unknownPeer.text)")
      await fleet.stop()
    }
  }
}

extension EndToEnd.FleetTests {
  /// Three hubs, two HAProxies, and devices that dial one HAProxy or the other.
  fileprivate final class Fleet {
    private let certificates: Certificates
    private let hubIdentity: Certificates.Identity
    private let folder: TemporaryFolder
    private let places: FleetBalancer.Places
    let balancers: [FleetBalancer]
    private var hubs: [BywayProcess?] = [nil, nil, nil]
    private var gateways: [BywayProcess] = []

    init(_ names: [String]) async throws {
      certificates = try await Certificates()
      hubIdentity = try await certificates.issue("hub", names: "DNS:*.devices.example,DNS:localhost")
      folder = try TemporaryFolder()
      places = try FleetBalancer.Places()
      balancers = [
        try await FleetBalancer(1, before: places, in: folder), try await FleetBalancer(2, before: places, in: folder),
      ]
      for number in 0..<3 { try await startHub(number) }
      for balancer in balancers { try await balancer.waitUntilLearned() }
      try await dial(names)
    }

    func startHub(_ number: Int) async throws {
      let place = places.hubs[number]
      hubs[number] = try await BywayProcess.proxy([
        "--suffix", "devices.example", "--listen", "tls://\(place.users)?\(hubIdentity.options)",
        "--hub", "tls://\(place.devices)?\(hubIdentity.options)&ca=\(certificates.authority)",
      ])
    }

    private func dial(_ names: [String]) async throws {
      var file = "origin = http://127.0.0.1:9\n"
      for (index, name) in names.enumerated() {
        let identity = try await certificates.issue(name, names: "DNS:\(name).devices.example")
        file += """
          [gateway \(name)]
          name = \(name)
          link = tls://\(balancers[index % 2].devices)?open=dial&name=\(name).devices.example&\(identity.options)&ca=\
          \(certificates.authority)

          """
      }
      gateways.append(try await BywayProcess.gateway(["--config", folder.write(file, to: "gateways.conf")]))
    }

    /// Kills a hub like `kill -9`.
    func kill(_ number: Int) async {
      hubs[number]?.process.send(SIGKILL)
      _ = await hubs[number]?.process.waitForExit(within: .seconds(5))
      hubs[number] = nil
    }

    func stop() async {
      for process in gateways + hubs.compactMap(\.self) { process.terminate() }
      for balancer in balancers { await balancer.stop() }
    }

    func get(_ name: String, at place: Endpoint) async throws -> CurlAnswer {
      try await Curl.fetch(
        "--cacert", certificates.authority, "--connect-to", "::\(place)", "-m", "8",
        "https://\(name).devices.example/.well-known/byway")
    }

    private struct Claim: Decodable {
      let name: String
    }

    /// - Returns: whether the right device has responded.
    private func isReached(_ name: String, at place: Endpoint) async throws -> Bool {
      let answer = try await get(name, at: place)
      guard answer.status == 200 else { return false }
      let claimed = try answer.json(Claim.self).name
      #expect(claimed == name)
      return claimed == name
    }

    func awaitAll(_ names: [String]) async throws {
      for name in names {
        for balancer in balancers {
          let isReached = try await eventually {
            try await self.isReached(name, at: balancer.users)
          }
          if isReached { continue }
          let answer = try await get(name, at: balancer.users)
          throw PeerFailure("\(name) is not reached: \(answer.text)\n\(try await knowledge)")
        }
      }
    }

    /// Waits until both HAProxies have the devices' hubs in their tables.
    func awaitKnown(_ homes: [String: Int]) async throws {
      for balancer in balancers {
        let isKnown = try await eventually {
          let lines = try await balancer.knowledge().split(separator: "\n")
          return homes.allSatisfy { name, number in
            lines.contains { $0.contains("key=\(name) ") && $0.hasSuffix("server_key=hub\(number + 1)") }
          }
        }
        if !isKnown { throw PeerFailure("not known: \(homes)\n\(try await knowledge)") }
      }
    }

    private var knowledge: String {
      get async throws {
        var text = "\(try await homes(of: (1...9).map { "d\($0)" }))"
        for balancer in balancers { text += "\n\n\(try await balancer.knowledge())" }
        return text
      }
    }

    /// Returns the hub of each device.
    func homes(of names: [String]) async throws -> [String: Int] {
      var homes: [String: Int] = [:]
      for number in 0..<3 where hubs[number] != nil {
        for name in names where try await isReached(name, at: places.hubs[number].users) {
          #expect(homes[name] == nil)
          homes[name] = number
        }
      }
      return homes
    }

    /// Sends a device's name in a TLS handshake, without a certificate.
    func knock(at balancer: FleetBalancer, as name: String) async throws {
      _ = try await Program.openssl.run(
        ["s_client", "-connect", "\(balancer.devices)", "-servername", "\(name).devices.example", "-quiet"],
        within: .seconds(5))
    }
  }
}
