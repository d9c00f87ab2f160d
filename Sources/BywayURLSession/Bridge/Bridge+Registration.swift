import Byway
import Foundation
import FoundationNetworking

extension Bridge {
  /// Makes `URLSession.shared` use this bridge; the one registered last is asked first.
  ///
  /// Call it before anything else uses `URLSession`. Foundation asks registered classes in the order of registration,
  /// registers its own with the first session, and `shared` takes what is registered when it is first used: from then
  /// on nothing gets in front of it. Sessions with a configuration of their own never ask registered classes about
  /// `http` and `https`: give their configuration the bridge with `use(_:)`.
  /// - Throws: `BywayError` with code `refused` where that has happened already.
  public func register() throws {
    BridgeTable.process.register(self)
    _ = URLProtocol.registerClass(BywayURLProtocol.self)
    let classes = URLSession.shared.configuration.protocolClasses ?? []
    guard classes.first == BywayURLProtocol.self else {
      unregister()
      throw BywayError(
        .refused,
        "URLSession was used before Bridge.register(), and URLSession.shared cannot be changed any more: register first"
          + " thing in the program, or give a session of your own the configuration .byway(bridge).")
    }
  }

  /// Requests of `URLSession.shared` no longer ask this bridge.
  public func unregister() {
    BridgeTable.process.unregister(self)
  }
}
