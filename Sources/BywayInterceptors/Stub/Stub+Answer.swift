public import Byway
public import HTTPTypes
import NIOCore
import Synchronization

extension Stub {
  /// What a ``Stub`` answers.
  public struct Answer: Sendable {
    let respond: @Sendable (Request) async throws -> Response

    /// The same answer to every request.
    /// - Parameters:
    ///   - status: 200 by default.
    ///   - fields: a length is added where the body has one.
    ///   - body: replayable, as it is sent with each.
    public static func fixed(
      _ status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], body: Body = .empty
    ) -> Answer {
      Answer { _ in Response(status: status, fields: fields, body: body) }
    }

    /// An answer made from the request.
    public static func computed(_ respond: @escaping @Sendable (Request) async throws -> Response) -> Answer {
      Answer(respond: respond)
    }

    /// No answer but an error.
    public static func failing(_ error: any Error) -> Answer {
      Answer { _ in throw error }
    }

    /// The content of a file, opened for each request.
    public static func file(
      _ path: String, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]
    ) -> Answer {
      Answer { _ in
        var fields = fields
        if fields[.contentType] == nil { fields[.contentType] = MediaType.ofFile(path) }
        return Response(status: status, fields: fields, body: try await Body.opening(file: path))
      }
    }

    /// One answer after another, and the last one from then on.
    public static func inTurn(_ first: Answer, _ others: Answer...) -> Answer {
      let answers = [first] + others
      let turn = Turn()
      return Answer { try await answers[turn.next(upTo: answers.count - 1)].respond($0) }
    }

    /// The same answer, later; where the request's deadline comes first, an error then, as from a slow origin.
    public func delayed(by delay: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Answer {
      Answer { request in
        let left = request.deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
        try await clock.sleep(for: min(delay, max(left ?? delay, .zero)), tolerance: nil)
        if let left, left < delay { throw BywayError(.timedOut, "The stub answers after the request's deadline.") }
        return try await respond(request)
      }
    }

    /// The same answer with its body at this pace.
    /// - Parameters:
    ///   - bytesPerSecond: at least 1.
    ///   - clock: what the pauses are measured with.
    public func throttled(to bytesPerSecond: Int, clock: any Clock<Duration> = ContinuousClock()) -> Answer {
      Answer { request in
        var response = try await respond(request)
        response.body = response.body.throttled(to: bytesPerSecond, clock: clock)
        return response
      }
    }
  }
}

/// Counts to a limit, and then stays there.
private final class Turn: Sendable {
  private let count = Mutex(0)

  func next(upTo limit: Int) -> Int {
    count.withLock { count in
      defer { count = min(count + 1, limit) }
      return count
    }
  }
}
