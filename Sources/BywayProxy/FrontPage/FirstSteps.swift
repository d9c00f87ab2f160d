package import Byway

/// The content of an empty list of devices: the ports of this machine, and how to add a device. The words are those of the
/// program that runs the proxy.
package struct FirstSteps: Sendable {
  /// An instruction, with what to type.
  package struct Step: Sendable, Hashable {
    let text: String
    let command: String

    package init(_ text: String, command: String) {
      self.text = text
      self.command = command
    }
  }

  /// The ports of this machine.
  package struct Ports: Sendable {
    let look: PortLook
    /// The reason that a usable port is not a device.
    let reason: String
    /// The instruction if there are none.
    let none: String
    /// Returns the command that examines a port, by its address.
    let examination: @Sendable (String) -> String

    package init(
      reason: String, none: String, examination: @escaping @Sendable (String) -> String,
      list: @escaping @Sendable () async -> [LinkPort]
    ) {
      look = PortLook(list)
      self.reason = reason
      self.none = none
      self.examination = examination
    }
  }

  let steps: [Step]
  /// `nil`: no device is expected there.
  let ports: Ports?

  package init(_ steps: [Step], ports: Ports?) {
    self.steps = steps
    self.ports = ports
  }
}

/// Lists the ports at most once in some seconds: many pages may ask each second.
actor PortLook {
  private static let pause = Duration.seconds(3)

  private let list: @Sendable () async -> [LinkPort]
  private var last: (task: Task<[LinkPort], Never>, at: ContinuousClock.Instant)?

  init(_ list: @escaping @Sendable () async -> [LinkPort]) {
    self.list = list
  }

  func ports() async -> [LinkPort] {
    if let last, .now - last.at < Self.pause { return await last.task.value }
    let task = Task { [list] in await list() }
    last = (task, .now)
    return await task.value
  }
}
