import BywayLineConformance

@testable import BywayLineLayer

/// A line layer with an owner, as the end under test: in virtual time, and over a line that loses nothing.
struct VirtualEnd {
  /// The behaviour of the session's owner.
  enum Owner {
    /// Returns the bytes that it receives, finishes when its peer does, and then opens the next session.
    case echo
    /// Follows the orders of the tester.
    case obedient
  }

  var layer: LineLayer
  private let owner: Owner
  private let configuration: LineLayerConfiguration
  private var programs: UInt32 = 0
  private var sessions: UInt32 = 100
  /// The number of sessions before its program was started.
  private var opened: UInt32 = 100

  init(_ role: Role, owner: Owner, configuration: LineLayerConfiguration = .defaults, at now: UInt64) {
    self.owner = owner
    self.configuration = configuration
    let layerRole: LineLayer.Role = role == .dial ? .dialer : .listener(incarnation: 0x0701_0000)
    layer = LineLayer(layerRole, configuration: configuration, at: now)
    act(at: now)
  }

  /// Restarts its program, which loses all state.
  mutating func restart(at now: UInt64) {
    programs += 1
    opened = sessions
    let role: LineLayer.Role = layer.role == .dialer ? .dialer : .listener(incarnation: 0x0701_0000 + programs)
    layer = LineLayer(role, configuration: configuration, at: now)
    act(at: now)
  }

  mutating func obey(_ order: OwnerOrder, at now: UInt64) {
    switch order {
    case .send(let count): layer.send([UInt8](repeating: 0x3C, count: count))
    case .finish: layer.finish()
    case .leave: layer.close(at: now)
    }
  }

  /// Handles events as the owner does.
  mutating func act(at now: UInt64) {
    while let event = layer.nextEvent() {
      switch (event, owner) {
      case (.received(let bytes), .echo):
        layer.send(bytes)
        layer.consumed(bytes.count, at: now)
      case (.received, .obedient): break
      case (.finished, .echo): layer.finish()
      default: break
      }
    }
    if layer.role == .dialer, !layer.hasSession, owner == .echo || sessions == opened {
      sessions += 1
      layer.open(session: sessions << 8 | 0x55, at: now)
    }
  }
}
