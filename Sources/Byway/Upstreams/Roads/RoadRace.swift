import NIOCore

/// An attempt to open one of several links: the best one first, the next one when that has failed or is slow. The first link that opens is
/// taken (as in RFC 8305 §5 for addresses).
///
/// Lives on its event loop; held by its attempts and its timer.
final class RoadRace {
  private let roads: Roads
  private let eventLoop: any EventLoop
  private let deadline: NIODeadline
  private var tried: Set<Int>
  private var running: Set<Int> = []
  private var timer: Scheduled<Void>?
  /// `nil` after the decision.
  private var opened: EventLoopPromise<OpenedRoad>?

  init(_ roads: Roads, without tried: Set<Int>, on eventLoop: any EventLoop, deadline: NIODeadline) {
    self.roads = roads
    self.tried = tried
    self.eventLoop = eventLoop
    self.deadline = deadline
  }

  func start() -> EventLoopFuture<OpenedRoad> {
    let opened = eventLoop.makePromise(of: OpenedRoad.self)
    self.opened = opened
    tryNext()
    return opened.futureResult
  }

  private func tryNext() {
    timer?.cancel()
    guard opened != nil else { return }
    let now = eventLoop.now
    guard let road = roads.next(besides: running, without: tried, at: now) else {
      if running.isEmpty { opened.take()?.fail(roads.failure) }
      return
    }
    tried.insert(road)
    running.insert(road)
    if tried.count < roads.dialers.count {
      timer = eventLoop.assumeIsolated().scheduleTask(in: roads.headStart(of: road)) { self.tryNext() }
    }
    roads.dialers[road].dial(on: eventLoop, deadline: deadline).assumeIsolated().whenComplete { result in
      self.ended(road, result)
    }
  }

  private func ended(_ road: Int, _ result: Result<any Channel, any Error>) {
    running.remove(road)
    let now = eventLoop.now
    switch result {
    case .success(let channel):
      guard let opened = opened.take() else {
        // Another link was faster.
        channel.close(promise: nil)
        return roads.works(road, at: now)
      }
      timer?.cancel()
      for slower in running {
        roads.failed(
          slower, BywayError(.timedOut, "\(roads.name(of: slower)) took longer to open than another link."), at: now)
      }
      opened.succeed(OpenedRoad(channel: channel, road: road, tried: tried))
    case .failure(let error):
      // A late failure says nothing about a link that is in use by now.
      if opened == nil, roads.isUp(road) { return }
      roads.failed(road, error, at: now)
      tryNext()
    }
  }
}
