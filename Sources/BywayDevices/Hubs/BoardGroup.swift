import Byway
import Logging
import NIOCore

/// A device whose boards dial a hub, and claim its name. A board speaks HTTP/1.1 on the streams of a line.
///
/// The board that dialed last serves. Others stand by, and the latest of them takes over. Lives on its event loop.
package final class BoardGroup {
  /// The one that serves, and seven that stand by.
  private static let mostBoards = 8

  private struct Board {
    let incarnation: UInt32
    let line: DialedLine
    let since: NIODeadline
  }

  private let name: DeviceName
  private let eventLoop: any EventLoop
  private let logger: Logger
  let upstream: HTTP1Upstream
  /// The one that serves is the last.
  private var boards: [Board] = []
  private var lastSeen: NIODeadline?
  private var isRetired = false
  /// A new number with each connection, and if another board takes over.
  private(set) var incarnation = UInt64.random(in: .min ... .max)

  init(
    _ name: DeviceName, _ terms: OpenDevice.Terms, siblings: Siblings?, logger: Logger, on eventLoop: any EventLoop
  ) {
    self.name = name
    self.eventLoop = eventLoop
    self.logger = logger
    let reference = BoardReference()
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.patience = terms.patience
    configuration.siblings = siblings
    // The streams of a session are its connections: without any, there is one.
    configuration.maximumConnections = 1
    configuration.queueing = configuration.responseTimeout
    configuration.reuse = .forAll
    upstream = HTTP1Upstream(
      dialer: Dialer(name: name.text) { _, deadline in reference.connect(on: eventLoop, by: deadline) }, on: eventLoop,
      hop: terms.hop, configuration: configuration, logger: logger)
    reference.board = self
  }

  /// The way from the upstream to its device. `@unchecked Sendable`: used on the event loop only.
  private final class BoardReference: @unchecked Sendable {
    weak var board: BoardGroup?

    func connect(on eventLoop: any EventLoop, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
      eventLoop.flatSubmit {
        self.board?.connect(by: deadline)
          ?? eventLoop.makeFailedFuture(BywayError(.cancelled, "The device was removed.", processing: .none))
      }
    }
  }

  private var serving: Board? { boards.last }

  private func connect(by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    guard let serving else { return eventLoop.makeFailedFuture(notConnected) }
    return serving.line.connect(by: deadline)
  }

  private var notConnected: BywayError {
    BywayError(.linkUnavailable, "No board has dialed as \(name.text).", processing: .none)
  }

  /// Whether a board is connected.
  var isConnected: Bool { boards.contains { $0.line.isConnected } }

  /// Takes a connection that a board has dialed.
  /// - Throws: if it has closed already.
  func adopt(_ connection: any Channel, of incarnation: UInt32) throws {
    if let place = boards.firstIndex(where: { $0.incarnation == incarnation }) {
      try boards[place].line.attach(connection)
      if place < boards.count - 1 { prefer(boards.remove(at: place)) }
    } else {
      let line = DialedLine(try LinkAddress("board:\(name.text)"), on: eventLoop, logger: logger)
      try line.attach(connection)
      line.ended = { [weak self, weak line] in
        if let self, let line { ended(line) }
      }
      prefer(Board(incarnation: incarnation, line: line, since: eventLoop.now))
    }
    self.incarnation = .random(in: .min ... .max)
    logger.notice("Board connected", metadata: ["device": "\(name.text)"])
  }

  /// Lets a board serve from now on. What another one serves is cut off, so that nothing more goes there.
  private func prefer(_ board: Board) {
    if let former = serving {
      if former.line.isConnected {
        logger.notice("Another board has dialed and is used from now on", metadata: ["device": "\(name.text)"])
      }
      former.line.endSession()
    }
    boards.append(board)
    if boards.count > Self.mostBoards { remove(boards[0].line) }
  }

  private func ended(_ line: DialedLine) {
    lastSeen = eventLoop.now
    if !line.hasSession, !line.isConnected || isRetired { remove(line) }
    // A session waits for its board only if no other one can serve.
    if let away = serving, !away.line.isConnected, let place = boards.lastIndex(where: { $0.line.isConnected }) {
      away.line.endSession()
      boards.append(boards.remove(at: place))
      incarnation = .random(in: .min ... .max)
    }
  }

  private func remove(_ line: DialedLine) {
    guard let place = boards.firstIndex(where: { $0.line === line }) else { return }
    if place == boards.count - 1 { incarnation = .random(in: .min ... .max) }
    boards.remove(at: place)
    line.ended = nil
    line.close()
  }

  /// Closes each connection when the exchanges on it have ended.
  func retire() {
    isRetired = true
    upstream.retire()
    for board in boards {
      // It is in no table from now on, and lives until its last line is closed.
      board.line.ended = { [line = board.line] in self.ended(line) }
      if !board.line.hasSession { remove(board.line) }
    }
  }

  /// The state of its connection: a board is connected also while it has no session.
  var status: UpstreamStatus {
    let requests = upstream.status
    let state: UpstreamStatus.State =
      if let serving, let interruption = serving.line.interruption {
        .interrupted(interruption)
      } else if let serving {
        .open(since: serving.since)
      } else {
        .down(notConnected)
      }
    var status = UpstreamStatus(state, lastSeen: serving == nil ? lastSeen : nil)
    status.name = requests.name
    status.waiting = requests.waiting
    status.connections = requests.connections
    return status
  }
}
