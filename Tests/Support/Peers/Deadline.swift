import Dispatch

/// Waiting with a time limit.
enum Deadline {
  static func after(_ limit: Duration, _ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds, execute: body)
  }
}

extension Duration {
  package var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
