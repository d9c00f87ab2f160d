import Byway
import Foundation
public import FoundationNetworking

/// What `URLSession` sees of a ``Bridge``; add it with `URLSessionConfiguration.use(_:)`, or ``Bridge/register()``.
public class BywayURLProtocol: URLProtocol {
  /// Made when Foundation first calls; touched on the task's work queue only.
  private var load: Load?

  /// On any thread, under locks of Foundation's: decides and does nothing else.
  public final override class func canInit(with request: URLRequest) -> Bool {
    guard let bridge = BridgeTable.process.bridge(for: request, of: self) else { return false }
    return !Loop.bridges.contains { $0 === bridge }
  }

  /// The request as it is; `Canonicalize` on the route's client is for that.
  public final override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Whether both are the same in all that `URLRequest` compares.
  public final override class func requestIsCacheEquivalent(_ one: URLRequest, to other: URLRequest) -> Bool {
    one == other
  }

  /// On the task's work queue; again after each suspension, and with every further `resume()`.
  public final override func startLoading() {
    if load == nil { load = makeLoad() }
    load?.assumeIsolated { $0.start() }
  }

  /// On the task's work queue, when the task was cancelled or suspended, perhaps before it was ever started.
  public final override func stopLoading() {
    if load == nil { load = makeLoad() }
    load?.assumeIsolated { $0.stop() }
  }

  private func makeLoad() -> Load? {
    guard let task else { return nil }
    guard let internals = TaskInternals(task),
      let bridge = BridgeTable.process.bridge(for: request, of: type(of: self))
    else {
      let error = BywayError(.refused, "No bridge takes this request any more.", processing: .none)
      client?.urlProtocol(self, didFailWithError: URLError(error, at: request.url))
      client = nil
      return nil
    }
    let client = TaskClient(self, task: task, completesInline: internals.completesInline)
    return Load(bridge, request, task, internals, client)
  }
}

/// What serves a bridge may use `URLSession` itself; what it asks for then must not come back to the same bridge.
enum Loop {
  /// On whose behalf the current Swift task runs.
  @TaskLocal static var bridges: [Bridge] = []
}
