package import Byway
import BywayDaemonProcess
import BywayPrimitives
import BywayTerminal
package import HTTPTypes
import NIOCore

/// A client of a daemon's control socket.
package struct ControlClient: Sendable {
  private let place: ControlFolders.Place
  private let link: Link

  /// The daemon's name.
  package var name: String { place.name }

  /// - Throws: ``BywayError`` if this command has no Unix sockets.
  package init(_ place: ControlFolders.Place, transports: TransportRegistry) throws {
    self.place = place
    link = try transports.link("unix:\(place.socket)?http=1.1")
  }

  /// Returns the client of the named daemon, or of the only one.
  /// - Parameter name: `nil` if there is only one daemon.
  /// - Throws: ``CommandFailure``
  package static func named(_ name: String?, transports: TransportRegistry) throws -> ControlClient {
    let search = ControlFolders.all()
    let all = search.places
    let known = all.map(\.name)
    let refusals = search.refusals.map { " \($0.asSentence)" }.joined()
    if let name {
      guard let place = all.first(where: { $0.name == name }) else {
        let hint = Spelling.hint(for: name, among: known)
        throw CommandFailure(.unavailable, "No daemon is called \"\(name)\".\(hint)\(refusals)")
      }
      return try ControlClient(place, transports: transports)
    }
    guard let place = all.first else { throw CommandFailure(.unavailable, none + refusals) }
    guard all.count == 1 else {
      throw CommandFailure(.usage, "Several daemons run: name one of \(known.joined(separator: ", ")).")
    }
    return try ControlClient(place, transports: transports)
  }

  static let none =
    "No gateway or proxy of this user runs, and none of the system that this user can access: those may need sudo."

  /// The time within which a daemon answers unless it is stuck.
  private static let patience = Duration.seconds(5)
  /// A reload may have to wait until a line is released.
  private static let reloadPatience = Duration.seconds(60)

  /// - Returns: The body of a successful response.
  /// - Throws: ``ConfigurationErrors`` with the daemon's reasons; ``CommandFailure`` if the daemon does not answer.
  package func send(_ method: HTTPRequest.Method, _ path: String, _ body: String = "") async throws -> String {
    guard method == .post else { return try await send(method, path, body, within: Self.patience) }
    // A short request first: a stuck daemon is reported sooner than after the time of a reload.
    _ = try await send(.get, "/log-level", "", within: Self.patience)
    return try await send(method, path, body, within: Self.reloadPatience)
  }

  private func send(
    _ method: HTTPRequest.Method, _ path: String, _ body: String, within patience: Duration
  ) async throws -> String {
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    let client = BywayClient(link, configuration: configuration)
    let late = CommandFailure(.unavailable, "\(place.name) does not answer.")
    do {
      let text = try await withTimeLimit(patience, throwing: late) {
        try await answer(of: client, method, path, body)
      }
      await client.shutDown()
      return text
    } catch {
      await client.shutDown()
      throw error
    }
  }

  private func answer(
    of client: BywayClient, _ method: HTTPRequest.Method, _ path: String, _ body: String
  ) async throws -> String {
    let response: Response
    let text: String
    do {
      let request = try Request(method, url: "http://localhost\(path)", body: body.isEmpty ? .empty : Body(body))
      response = try await client.execute(request)
      text = String(buffer: try await response.body.collect(upTo: 16 << 20))
    } catch {
      throw CommandFailure(.unavailable, "\(place.name) does not answer: \(BywayError(error).message)")
    }
    guard response.status.kind == .successful else { throw refusal(response, text) }
    return text
  }

  private func refusal(_ response: Response, _ text: String) -> any Error {
    let status = ControlServer.exitStatus.flatMap { response.fields[$0] }.flatMap { Int32($0) }
      .flatMap { ExitStatus(rawValue: $0) }
    let lines = text.isEmpty ? ["\(response.status)"] : text.split(separator: "\n").map(String.init)
    return ConfigurationErrors(
      failures: lines.map {
        CommandFailure(status == .success ? .unavailable : status ?? .unavailable, "\(place.name): \($0.asSentence)")
      })
  }
}
