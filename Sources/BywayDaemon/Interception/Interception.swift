package import Byway
package import Logging

/// The interceptors of one gateway or proxy.
package struct Interception: Sendable {
  private let interceptors: [NamedInterceptor]
  /// The daemon's open files that it uses.
  private(set) var used: Set<InterceptionFiles.Key>
  /// The log of which user uses what; `nil` if there is none.
  private(set) var audit: AuditLogFile?

  package init(_ interceptors: [NamedInterceptor], using used: Set<InterceptionFiles.Key>) {
    self.interceptors = interceptors
    self.used = used
  }

  /// Opens the audit log unless it is open already.
  /// - Throws: ``CommandFailure`` if it cannot be opened.
  package mutating func audit(in path: String?, of files: InterceptionFiles, logger: Logger) throws {
    guard let path else { return }
    audit = try files.audit(path, logger: logger)
    used.insert(.audit(path))
  }

  /// Returns the interceptors with others after them, nearer to the origin. Compression at the end of the list stays there.
  func before(_ others: [any Interceptor]) -> [any Interceptor] {
    let isCompressed = interceptors.last?.name == "compress"
    let last = isCompressed ? interceptors.suffix(1) : []
    return interceptors.dropLast(last.count).map(\.interceptor) + others + last.map(\.interceptor)
  }
}

/// An interceptor and its name in the user's order.
package struct NamedInterceptor {
  package let name: String
  let interceptor: any Interceptor

  package init(_ name: String, _ interceptor: any Interceptor) {
    self.name = name
    self.interceptor = interceptor
  }
}
