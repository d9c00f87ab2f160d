import Byway
import BywayHTTPWire
import NIOCore

/// An exchange of a proxy with users. It waits until its user is known, removes the user's field from the trailers, counts as the use
/// of a device, and ends when the user loses the right to that device.
///
/// Lives on its event loop.
final class UserExchange: RequestSink, ResponseOwner {
  private enum State {
    /// Received content is held.
    case waiting(isWhole: Bool)
    case running(any RequestSink)
    case over
  }

  /// More than flow control lets any sender send without credit, and held bytes are not credited.
  private static let heldLimit = 8 << 20

  /// The user of an exchange, and the resource that it uses.
  struct Use {
    let user: RequestUser
    /// `nil`: the list of devices.
    let resource: Resource?
  }

  private let header: UserHeader?
  private let room: HeldContent
  private(set) var sink: (any ResponseSink)?
  private var state = State.waiting(isWhole: false)
  /// The held content, in one buffer because chunks may have one byte each.
  private var held = ByteBuffer()
  private var trailers: FieldSection?
  private(set) var use: Use?
  /// Called once, when the exchange is over.
  private var ended: ((UserExchange) -> Void)?

  /// - Parameters:
  ///   - header: the field that names users, which devices do not get.
  ///   - room: the limit for held content.
  init(hiding header: UserHeader?, within room: HeldContent, respondingTo sink: any ResponseSink) {
    self.header = header
    self.room = room
    self.sink = sink
  }

  /// Whether the exchange has ended.
  var isOver: Bool {
    if case .over = state { true } else { false }
  }

  /// Passes the request on, with the content held so far.
  /// - Parameter ended: called once, when the exchange is over.
  func begin(
    _ request: ExchangeHead, as use: Use,
    with begin: (ExchangeHead, any ResponseSink) throws(BywayError) -> any RequestSink,
    ended: @escaping (UserExchange) -> Void
  ) {
    guard case .waiting = state else { return }
    self.use = use
    self.ended = ended
    do throws(BywayError) {
      let upstream = try begin(request, PassingResponse(to: self))
      guard case .waiting(let isWhole) = state else { return }
      state = .running(upstream)
      let body = takeHeld()
      if body.readableBytes > 0 { upstream.write(body) }
      if isWhole, !isOver { upstream.finish(trailers: trailers.take()) }
    } catch {
      end()?.fail(error)
    }
  }

  /// Answers instead of a device.
  func refuse(_ answer: (any ResponseSink) -> Void) {
    guard let sink = end() else { return }
    answer(sink)
  }

  /// Ends a running exchange, because the user's right is gone.
  func cut(_ reason: BywayError) {
    let state = state
    let sink = end()
    if case .running(let upstream) = state { upstream.cancel(reason) }
    sink?.fail(reason)
  }

  /// - Returns: the client's sink, on the first call.
  private func end() -> (any ResponseSink)? {
    state = .over
    _ = takeHeld()
    trailers = nil
    ended.take()?(self)
    return sink.take()
  }

  private func takeHeld() -> ByteBuffer {
    defer { held = ByteBuffer() }
    room.release(held.readableBytes)
    return held
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    switch state {
    case .waiting:
      if held.readableBytes + bytes.readableBytes > Self.heldLimit {
        end()?.fail(BywayError(.tooLarge, "Too much was sent before the login was checked.", processing: .none))
      } else if room.take(bytes.readableBytes) {
        held.writeImmutableBuffer(bytes)
      } else {
        end()?.fail(BywayError(.refused, "Too much was sent before logins were checked: try again.", processing: .none))
      }
    case .running(let upstream): upstream.write(bytes)
    case .over: break
    }
  }

  func finish(trailers: FieldSection?) {
    var trailers = trailers
    if trailers != nil { Self.clean(&trailers, header) }
    switch state {
    case .waiting:
      state = .waiting(isWhole: true)
      self.trailers = trailers
    case .running(let upstream): upstream.finish(trailers: trailers)
    case .over: break
    }
  }

  /// Removes logins and the user's field from trailers, because a recipient may merge trailers into the head (RFC 9110 §6.5.1).
  private static func clean(_ trailers: inout FieldSection?, _ header: UserHeader?) {
    guard var fields = trailers else { return }
    let section = fields
    fields.removeAll { line in
      section.withBytes(of: line) { name, _ in
        name.elementsEqual("authorization".utf8) || name.elementsEqual("proxy-authorization".utf8)
      }
    }
    header?.remove(from: &fields)
    trailers = fields
  }

  func cancel(_ reason: BywayError) {
    let state = state
    _ = end()
    if case .running(let upstream) = state { upstream.cancel(reason) }
  }

  func didConsumeResponse(_ bytes: Int) {
    if case .running(let upstream) = state { upstream.didConsumeResponse(bytes) }
  }

  // MARK: ResponseOwner

  func responseEnded() -> (any ResponseSink)? {
    end()
  }
}
