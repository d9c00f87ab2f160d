import Byway

/// The plan of a daemon: a value, which the daemon compares with what runs.
struct DaemonPlan<Member: DaemonMember>: Sendable {
  /// A gateway or proxy of the plan.
  struct Part: Sendable {
    /// The name of its section; empty if there are no sections.
    let name: String
    let configuration: Member.Configuration
    /// The options that cannot change while it runs, with their values as text.
    let fixed: [String: String]
    /// Opens what its interceptors need and is not open yet.
    let interception: @Sendable (InterceptionFiles) throws -> Interception
  }

  /// The source of plans, which each reload reads again.
  struct Source: Sendable {
    /// The path of the configuration file; `nil` if there is none.
    let file: String?
    let transports: TransportRegistry
    /// Reads a plan and the files that it names, and checks what a start needs, on another thread.
    let read: @Sendable () async throws -> DaemonPlan
  }

  let settings: DaemonSettings
  let parts: [Part]
}
