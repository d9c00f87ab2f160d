import Byway
import BywayPrimitives

/// The content of an empty list of devices.
struct Beginning: Sendable, Hashable {
  struct Port: Sendable, Hashable {
    let address: String
    let device: String
    /// The name that it reports.
    let name: String?
    /// The reason that it is not a device.
    let reason: String
    /// The command that examines it.
    let command: String
  }

  /// The URLs of devices that patterns make, with the pattern in the place of the name.
  let urls: [String]
  let steps: [FirstSteps.Step]
  /// `nil`: no device is expected on a port.
  let ports: [Port]?
  /// The instruction if there are no ports.
  let noPorts: String?

  init(_ firstSteps: FirstSteps, patterns: [String], ports: [LinkPort]?, at place: DevicePlace) {
    urls = patterns.map { place.url(at: $0) }
    steps = firstSteps.steps
    noPorts = firstSteps.ports?.none
    self.ports = firstSteps.ports.map { given in
      (ports ?? []).map { port in
        Port(
          address: port.address, device: port.device, name: port.name,
          reason: port.unavailableReason.map { "It cannot be opened now: \($0)." } ?? given.reason,
          command: given.examination(port.address))
      }
    }
  }

  /// The ports, for programs. The rest are words for people.
  var json: JSON? {
    ports.map { ports in
      .array(
        ports.map { port in
          [
            "address": .string(port.address), "device": .string(port.device), "name": port.name.map { .string($0) },
            "reason": .string(port.reason),
          ]
        })
    }
  }
}
