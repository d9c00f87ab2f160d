import Byway
import NIOCore

/// Steps that only a line can show.
extension DemoTour {
  /// The time that the cable is out.
  private static let cut = Duration.seconds(2)

  /// Pulls the cable during requests. They must wait for it and each be carried out once: no POST may be sent again.
  func cable() async throws -> String {
    let count = 20
    let before = try await requestNumber()
    let (ends, plugged) = try await withThrowingTaskGroup(of: NIODeadline.self) { group in
      for number in 1...count {
        group.addTask {
          try await upload(bytes: 500 + number)
          return .now()
        }
      }
      // The line needs about a second for these requests.
      try await Task.sleep(for: .milliseconds(400))
      stage.line.pull()
      defer { stage.line.plug() }
      try await Task.sleep(for: Self.cut)
      let plugged = NIODeadline.now()
      stage.line.plug()
      return (try await group.reduce(into: []) { $0.append($1) }, plugged)
    }
    let waiting = ends.filter { $0 > plugged }
    try expect(!waiting.isEmpty, "They had all ended before the cable was pulled.")
    let carriedOut = try await requestNumber() - before - 1
    try expect(carriedOut == count, "\(count) requests were carried out \(carriedOut) times.")
    let time = (ends.max() ?? plugged) - plugged
    return "out for \(Self.cut) while \(waiting.count) of them ran, done \(milliseconds(time)) later, each once"
  }

  func damage() async throws -> String {
    let ends = await stage.lineStatistics()
    guard let host = ends.host, let device = ends.device else {
      throw UnexpectedResult(message: "There is no session over it any more.")
    }
    return "\(stage.line.wrongBits) bits wrong, \(stage.line.foreignBytes) bytes of a log among "
      + "\(stage.line.sentBytes); \(host.repeatedFrames + device.repeatedFrames) frames sent again"
  }

  private func upload(bytes: Int) async throws {
    let response = try await send("/upload", method: .post, body: Body(DemoBytes(count: bytes), length: bytes))
    let text = String(buffer: try await response.body.collect(upTo: 4096))
    try expect(response.status == .ok && text.contains("\"bytes\":\(bytes),"), "\(response.status.code), \(text)")
  }

  /// Returns the origin's count of its requests, including this one.
  private func requestNumber() async throws -> Int {
    let text = String(buffer: try await send("/status").body.collect(upTo: 4096))
    let digits = text.split(separator: "\"request\":").last?.prefix { $0.isNumber } ?? ""
    guard let number = Int(digits) else { throw UnexpectedResult(message: "There is no number in \(text)") }
    return number
  }
}
