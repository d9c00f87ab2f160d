package import Byway
import BywayInterceptors

/// The rules of an inspector's users: breakpoints, fault rules and stubs. Safe on any thread.
///
/// A breakpoint gets the request before the fault rules and stubs, and the response after them. While there are no rules, requests bypass
/// all of them, after one check.
package final class InspectorRules: OccasionalInterceptor {
  let breakpoints: Breakpoints
  let faults: FaultRules
  let stubs = LiveStubs()

  package convenience init(of inspector: Inspector) {
    self.init(Breakpoints(of: inspector))
  }

  init(_ breakpoints: Breakpoints) {
    self.breakpoints = breakpoints
    faults = FaultRules { [inspector = breakpoints.inspector] request, isDelayed in
      if let id = inspector.id(of: request) { inspector.note(id, isDelayed: isDelayed) }
    }
  }

  package var isNeeded: Bool { breakpoints.isNeeded || faults.isNeeded || stubs.isNeeded }

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    try await Next([breakpoints, faults, stubs][...]) { try await next($0) }(request)
  }
}
