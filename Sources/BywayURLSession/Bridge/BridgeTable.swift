import FoundationNetworking
import Synchronization

/// The bridges of each protocol class. Foundation asks classes, and does not say for which session. So each bridge has a class
/// of its own, and ``BywayURLProtocol`` itself stands for the bridges registered for the whole process.
final class BridgeTable: Sendable {
  static let process = BridgeTable()

  private struct State {
    var classes: [ObjectIdentifier: BywayURLProtocol.Type] = [:]
    /// The bridges by class, in the order in which they are asked.
    var bridges: [ObjectIdentifier: [Bridge]] = [:]
  }

  private let state = Mutex(State())

  /// Returns the bridge that takes this request.
  func bridge(for request: URLRequest, of protocolClass: BywayURLProtocol.Type) -> Bridge? {
    let bridges = state.withLock { $0.bridges[ObjectIdentifier(protocolClass)] }
    return bridges?.first { $0.client(for: request) != nil }
  }

  func protocolClass(of bridge: Bridge) -> BywayURLProtocol.Type {
    state.withLock { state in
      if let known = state.classes[ObjectIdentifier(bridge)] { return known }
      let made = ownClass(number: state.classes.count)
      state.classes[ObjectIdentifier(bridge)] = made
      state.bridges[ObjectIdentifier(made)] = [bridge]
      return made
    }
  }

  func register(_ bridge: Bridge) {
    unregister(bridge)
    state.withLock { $0.bridges[ObjectIdentifier(BywayURLProtocol.self), default: []].insert(bridge, at: 0) }
  }

  func unregister(_ bridge: Bridge) {
    state.withLock { $0.bridges[ObjectIdentifier(BywayURLProtocol.self)]?.removeAll { $0 === bridge } }
  }
}

// MARK: Classes created at run time

/// Types that encode a number in binary digits, so that each makes a distinct class of a generic one.
private protocol Number {}
private enum Zero: Number {}
private enum Twice<Half: Number>: Number {}
private enum TwiceAndOne<Half: Number>: Number {}

private final class OwnProtocol<Name: Number>: BywayURLProtocol {}

private func ownClass(number: Int) -> BywayURLProtocol.Type {
  func protocolClass<Name: Number>(_: Name.Type) -> BywayURLProtocol.Type { OwnProtocol<Name>.self }
  return protocolClass(spelling(number))
}

private func spelling(_ number: Int) -> any Number.Type {
  if number == 0 { return Zero.self }
  func append<Half: Number>(_: Half.Type) -> any Number.Type {
    number.isMultiple(of: 2) ? Twice<Half>.self : TwiceAndOne<Half>.self
  }
  return append(spelling(number / 2))
}
