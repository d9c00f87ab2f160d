import Byway
import Foundation
public import FoundationNetworking

/// The protocol class through which `URLSession` uses a ``Bridge``. Add it with `URLSessionConfiguration.use(_:)`, or
/// ``Bridge/register()``.
public class BywayURLProtocol: URLProtocol {
  /// The load, created when Foundation first calls. Used on the task's work queue only.
  private var load: TaskLoader?

  /// Decides whether a bridge takes the request. It may be called on any thread while Foundation holds locks, so it does
  /// nothing else.
  public final override class func canInit(with request: URLRequest) -> Bool {
    guard let bridge = BridgeTable.process.bridge(for: request, of: self) else { return false }
    return !Loop.bridges.contains { $0 === bridge }
  }

  /// Returns the request unchanged; `Canonicalize` on the route's client changes requests.
  public final override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Whether both requests are equal in all that `URLRequest` compares.
  public final override class func requestIsCacheEquivalent(_ one: URLRequest, to other: URLRequest) -> Bool {
    one == other
  }

  /// Starts or continues the load. Foundation calls it on the task's work queue, also after each suspension and each further
  /// `resume()`.
  public final override func startLoading() {
    if load == nil { load = makeLoad() }
    load?.assumeIsolated { $0.start() }
  }

  /// Stops or suspends the load. Foundation calls it on the task's work queue when the task was cancelled or suspended, perhaps
  /// before it was started.
  public final override func stopLoading() {
    if load == nil { load = makeLoad() }
    load?.assumeIsolated { $0.stop() }
  }

  private func makeLoad() -> TaskLoader? {
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
    return TaskLoader(bridge, request, task, internals, client)
  }
}
