package import Byway

/// The plan of a daemon: a value, which the daemon compares with what runs.
package struct DaemonPlan<Member: DaemonMember>: Sendable {
  /// A gateway or proxy of the plan.
  package struct Part: Sendable {
    /// The name of its section; empty if there are no sections.
    let name: String
    let configuration: Member.Configuration
    /// The options that cannot change while it runs, with their values as text.
    let fixed: [String: String]
    /// Opens what its interceptors need and is not open yet.
    let interception: @Sendable (InterceptionFiles) throws -> Interception

    package init(
      name: String, configuration: Member.Configuration, fixed: [String: String],
      interception: @escaping @Sendable (InterceptionFiles) throws -> Interception
    ) {
      self.name = name
      self.configuration = configuration
      self.fixed = fixed
      self.interception = interception
    }
  }

  /// The source of plans, which each reload reads again.
  package struct Source: Sendable {
    /// The path of the configuration file; `nil` if there is none.
    let file: String?
    let transports: TransportRegistry
    /// Reads a plan and the files that it names, and checks what a start needs, on another thread.
    package let read: @Sendable () async throws -> DaemonPlan

    package init(
      file: String?, transports: TransportRegistry, read: @escaping @Sendable () async throws -> DaemonPlan
    ) {
      self.file = file
      self.transports = transports
      self.read = read
    }
  }

  package let settings: DaemonSettings
  let parts: [Part]

  package init(settings: DaemonSettings, parts: [Part]) {
    self.settings = settings
    self.parts = parts
  }
}
