import NIOCore

/// An attempt to open one of several links: the best one first, the next one when that has failed or is slow. The first link that opens is
/// taken (as in RFC 8305 §5 for addresses).
///
/// Lives on its event loop; held by its attempts and its timer.
final class LinkRace {
  private let links: FailoverLinks
  private let eventLoop: any EventLoop
  private let deadline: NIODeadline
  private var tried: Set<Int>
  private var running: Set<Int> = []
  private var timer: Scheduled<Void>?
  /// `nil` after the decision.
  private var opened: EventLoopPromise<OpenedLink>?

  init(_ links: FailoverLinks, without tried: Set<Int>, on eventLoop: any EventLoop, deadline: NIODeadline) {
    self.links = links
    self.tried = tried
    self.eventLoop = eventLoop
    self.deadline = deadline
  }

  func start() -> EventLoopFuture<OpenedLink> {
    let opened = eventLoop.makePromise(of: OpenedLink.self)
    self.opened = opened
    tryNext()
    return opened.futureResult
  }

  private func tryNext() {
    timer?.cancel()
    guard opened != nil else { return }
    let now = eventLoop.now
    guard let link = links.next(besides: running, without: tried, at: now) else {
      if running.isEmpty { opened.take()?.fail(links.failure) }
      return
    }
    tried.insert(link)
    running.insert(link)
    if tried.count < links.dialers.count {
      timer = eventLoop.assumeIsolated().scheduleTask(in: links.headStart(of: link)) { self.tryNext() }
    }
    links.dialers[link].dial(on: eventLoop, deadline: deadline).assumeIsolated().whenComplete { result in
      self.ended(link, result)
    }
  }

  private func ended(_ link: Int, _ result: Result<any Channel, any Error>) {
    running.remove(link)
    let now = eventLoop.now
    switch result {
    case .success(let channel):
      guard let opened = opened.take() else {
        // Another link was faster.
        channel.close(promise: nil)
        return links.works(link, at: now)
      }
      timer?.cancel()
      for slower in running {
        links.failed(
          slower, BywayError(.timedOut, "\(links.name(of: slower)) took longer to open than another link."), at: now)
      }
      opened.succeed(OpenedLink(channel: channel, link: link, tried: tried))
    case .failure(let error):
      // A late failure says nothing about a link that is in use by now.
      if opened == nil, links.isUp(link) { return }
      links.failed(link, error, at: now)
      tryNext()
    }
  }
}
