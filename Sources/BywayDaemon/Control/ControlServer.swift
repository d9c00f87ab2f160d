import Byway
import BywayDaemonProcess
import BywayPrimitives
import BywayProxy
import HTTPTypes
import Logging
import NIOCore

/// The requests that a running daemon accepts.
protocol Controllable: Sendable {
  func status() async -> DaemonStatus
  func metrics() async -> [UInt8]
  func reload() async -> ReloadResult
  /// Returns at once.
  func requestStop() async -> StopNotice
}

/// The server on a daemon's control socket. docs/daemon.md lists the requests.
struct ControlServer: Sendable {
  /// The field with the exit status for the command whose request was refused.
  static let exitStatus = HTTPField.Name("byway-exit-status")

  private let daemon: any Controllable

  init(_ daemon: any Controllable) {
    self.daemon = daemon
  }

  func respond(to request: Request) async throws -> Response {
    let path = (request.head.path ?? "").prefix { $0 != "?" }
    switch (request.head.method, path) {
    case (.get, "/status"):
      return Self.text("\(await daemon.status().json)\n", type: "application/json")
    case (.get, "/metrics"):
      return Self.metrics(await daemon.metrics())
    case (.post, "/reload"):
      switch await daemon.reload() {
      case .done(let atStart):
        return Self.text("\(ReloadNotice(atStart: atStart).json)\n", type: "application/json")
      case .refused(let failures):
        var response = Self.text("\(failures.lines)\n", status: .unprocessableContent)
        if let name = Self.exitStatus { response.head.headerFields[name] = "\(failures.status.rawValue)" }
        return response
      }
    case (.post, "/stop"):
      return Self.text("\(await daemon.requestStop().json)\n", status: .accepted, type: "application/json")
    case (.get, "/log-level"):
      return Self.text("\(LogLevels.current)\n")
    case (.put, "/log-level"):
      let body = try await withTimeLimit(
        .seconds(5), throwing: BywayError(.timedOut, "The level did not come in time.", processing: .none)
      ) { try await request.body.collect(upTo: 64) }
      let text = String(buffer: body)
      guard let level = LogLevel(rawValue: text.filter { !$0.isWhitespace }) else {
        return Self.text("Not a level: write one of \(LogLevel.names).\n", status: .unprocessableContent)
      }
      LogLevels.set(level)
      return Response(status: .noContent)
    default:
      return Self.text(
        "GET /status, GET /metrics, POST /reload, POST /stop, GET or PUT /log-level\n", status: .notFound)
    }
  }

  /// Returns a response with metrics in the text format of Prometheus.
  static func metrics(_ text: [UInt8]) -> Response {
    Response(
      status: .ok, fields: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
      body: Body(ByteBuffer(bytes: text)))
  }

  private static func text(
    _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
  ) -> Response {
    Response(status: status, fields: [.contentType: type, .cacheControl: "no-store"], body: Body(text))
  }
}
