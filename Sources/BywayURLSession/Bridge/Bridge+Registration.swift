import Byway
import Foundation
import FoundationNetworking

extension Bridge {
  /// Makes `URLSession.shared` use this bridge. The bridge registered last is asked first.
  ///
  /// Call this before anything else uses `URLSession`. Foundation asks registered classes in the order of registration. It
  /// registers its own classes with the first session, and `shared` copies the registered classes when it is first used. After
  /// that, no class can be put before them. Sessions with their own configuration never ask registered classes about `http` and
  /// `https`: add the bridge to their configuration with `use(_:)`.
  /// - Throws: `BywayError` with code `refused` if `URLSession` was used before.
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

  /// Stops requests of `URLSession.shared` from using this bridge.
  public func unregister() {
    BridgeTable.process.unregister(self)
  }
}
