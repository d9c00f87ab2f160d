public import Byway
public import HTTPTypes
import NIOCore
import Synchronization

extension Stub {
  /// The answer of a ``Stub``.
  public struct Answer: Sendable {
    let respond: @Sendable (Request) async throws -> Response

    /// Returns the same answer to every request.
    /// - Parameters:
    ///   - status: The status; 200 by default.
    ///   - fields: The fields; a length is added if the body has one.
    ///   - body: A replayable body, as it is sent with each answer.
    public static func fixed(
      _ status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], body: Body = .empty
    ) -> Answer {
      Answer { _ in Response(status: status, fields: fields, body: body) }
    }

    /// Returns an answer that is computed from the request.
    public static func computed(_ respond: @escaping @Sendable (Request) async throws -> Response) -> Answer {
      Answer(respond: respond)
    }

    /// Returns an error in place of an answer.
    public static func failing(_ error: any Error) -> Answer {
      Answer { _ in throw error }
    }

    /// Returns the content of a file, which is opened for each request.
    public static func file(
      _ path: String, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]
    ) -> Answer {
      Answer { _ in
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = MediaType.ofFile(path) }
        return Response(status: status, fields: fields, body: try await Body.opening(file: path))
      }
    }

    /// Returns one answer after another, and the last one from then on.
    public static func inTurn(_ first: Answer, _ others: Answer...) -> Answer {
      let answers = [first] + others
      let turn = Turn()
      return Answer { try await answers[turn.next(upTo: answers.count - 1)].respond($0) }
    }

    /// Returns the same answer with a delay. If the request's deadline comes first, it fails then, as with a slow origin.
    public func delayed(by delay: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Answer {
      Answer { request in
        let left = request.deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
        try await clock.sleep(for: min(delay, max(left ?? delay, .zero)), tolerance: nil)
        if let left, left < delay { throw BywayError(.timedOut, "The stub answers after the request's deadline.") }
        return try await respond(request)
      }
    }

    /// Returns the same answer with its body at a limited rate.
    /// - Parameters:
    ///   - bytesPerSecond: The rate; at least 1.
    ///   - clock: The clock for the pauses.
    public func throttled(to bytesPerSecond: Int, clock: any Clock<Duration> = ContinuousClock()) -> Answer {
      Answer { request in
        var response = try await respond(request)
        response.body = response.body.throttled(to: bytesPerSecond, clock: clock)
        return response
      }
    }
  }
}

/// A counter that stops at a limit.
private final class Turn: Sendable {
  private let count = Mutex(0)

  func next(upTo limit: Int) -> Int {
    count.withLock { count in
      defer { count = min(count + 1, limit) }
      return count
    }
  }
}
