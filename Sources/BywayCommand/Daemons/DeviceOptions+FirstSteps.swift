import Byway
import BywayDaemon
import BywayPrimitives
import BywayProxy

extension DeviceOptions {
  /// Returns what the list of devices says while it is empty.
  func firstSteps(hubs: [Link], in transports: TransportRegistry) -> FirstSteps {
    var steps = hubs.map { hub in
      FirstSteps.Step(
        "Start a gateway on each device, which dials this proxy:",
        command: Self.gateway(link: Self.dialing(hub.address)))
    }
    if isDiscovering {
      steps.append(
        FirstSteps.Step(
          "Plug in a device. On the device, a gateway serves its end of the cable:",
          command: Self.gateway(link: "serial:/dev/ttyGS0")))
    } else if hubs.isEmpty {
      steps.append(
        FirstSteps.Step(
          "To make a device of each USB adapter that is plugged in, start the proxy with this option:",
          command: "--discover serial"))
    }
    let reason =
      isDiscovering
      ? "No device has given its name there yet. USB adapters are asked for it; other ports must be given as devices."
      : "This proxy does not look for devices on its ports."
    // The adapters of a hub's machine lead to no devices.
    guard isDiscovering || hubs.isEmpty else { return FirstSteps(steps, ports: nil) }
    return FirstSteps(
      steps,
      ports: FirstSteps.Ports(
        reason: reason, none: PortTable.noPorts,
        examination: { "byway doctor \(ShellWord.of($0))" },
        list: { (try? await FileWork.run { try transports.ports() }) ?? [] }))
  }

  private static func gateway(link: String) -> String {
    "byway gateway --link \(link) --name NAME --origin http://127.0.0.1:80"
  }

  /// Returns the address that a gateway dials, without the hub's own options, as a word for the shell.
  private static func dialing(_ hub: LinkAddress) -> String {
    let place = hub.publicName.replacing("0.0.0.0", with: "THIS-MACHINE").replacing("[::]", with: "THIS-MACHINE")
    return ShellWord.of("\(place)?open=dial")
  }
}
