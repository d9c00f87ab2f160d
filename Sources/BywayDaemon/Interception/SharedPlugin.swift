import Byway
package import BywayPlugins

/// A plugin that several members use. Only the daemon shuts it down.
package struct SharedPlugin: Interceptor {
  package let plugin: Plugin

  var scope: Scope { plugin.scope }

  func intercept(_ request: Request, next: Next) async throws -> Response {
    try await plugin.intercept(request, next: next)
  }
}
