import NIOCore

/// The sessions at a gateway that have begun and are not open yet. Anyone who may publish can begin some, so their number is limited.
struct OpeningTable {
  enum Admission: Equatable {
    case admitted
    /// Admitted in place of an older one, which must be dropped.
    case replacing(SessionName)
    case refused
  }

  /// The most sessions that are not open yet.
  static let limit = 64
  /// The time that a session has to open while others wait. A session usually needs one or two round trips.
  static let patience = TimeAmount.milliseconds(500)

  private var openings: [(name: SessionName, since: NIODeadline)] = []

  var count: Int { openings.count }

  mutating func admit(_ name: SessionName, at now: NIODeadline) -> Admission {
    var admission = Admission.admitted
    if openings.count >= Self.limit {
      guard let oldest = openings.first, oldest.since + Self.patience <= now else { return .refused }
      openings.removeFirst()
      admission = .replacing(oldest.name)
    }
    openings.append((name, now))
    return admission
  }

  /// A session is open, or has ended.
  mutating func remove(_ name: SessionName) {
    openings.removeAll { $0.name == name }
  }
}
