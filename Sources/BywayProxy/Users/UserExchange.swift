import Byway
import HTTPWire
import NIOCore

/// An exchange where users are told apart: waits until it is known whose it is, keeps the user's field out of the trailers, is counted
/// as the use of a device, and ends when the right to that is taken away.
///
/// Lives on its event loop.
final class UserExchange: RequestSink {
  private enum State {
    /// What comes is held.
    case waiting(isWhole: Bool)
    case running(any RequestSink)
    case over
  }

  /// More than any sender may be ahead of its reader, as none of it is credited.
  private static let heldLimit = 8 << 20

  /// Whose it is, and for what.
  struct Use {
    let visitor: Visitor
    /// `nil`: for the list of devices.
    let resource: Resource?
  }

  private let header: UserHeader?
  private let room: HeldContent
  private var sink: (any ResponseSink)?
  private var state = State.waiting(isWhole: false)
  /// Chunks may have a byte each: they are one run of bytes here.
  private var held = ByteBuffer()
  private var trailers: FieldSection?
  private(set) var use: Use?
  /// Told once, when it is over.
  private var ended: ((UserExchange) -> Void)?

  /// - Parameters:
  ///   - header: that names users, and is no business of a device.
  ///   - room: for what is held while it waits.
  init(hiding header: UserHeader?, within room: HeldContent, respondingTo sink: any ResponseSink) {
    self.header = header
    self.room = room
    self.sink = sink
  }

  /// Nobody waits for it any more.
  var isOver: Bool {
    if case .over = state { true } else { false }
  }

  /// - Parameter ended: told once, when it is over.
  func begin(
    _ request: ExchangeHead, as use: Use,
    with begin: (ExchangeHead, any ResponseSink) throws(BywayError) -> any RequestSink,
    ended: @escaping (UserExchange) -> Void
  ) {
    guard case .waiting = state else { return }
    self.use = use
    self.ended = ended
    do throws(BywayError) {
      let upstream = try begin(request, Answer(to: self))
      guard case .waiting(let isWhole) = state else { return }
      state = .running(upstream)
      let body = takeHeld()
      if body.readableBytes > 0 { upstream.write(body) }
      if isWhole, !isOver { upstream.finish(trailers: trailers.take()) }
    } catch {
      end()?.fail(error)
    }
  }

  /// Answers in the place of a device.
  func refuse(_ answer: (any ResponseSink) -> Void) {
    guard let sink = end() else { return }
    answer(sink)
  }

  /// The right to it is gone.
  func cut(_ reason: BywayError) {
    let state = state
    let sink = end()
    if case .running(let upstream) = state { upstream.cancel(reason) }
    sink?.fail(reason)
  }

  /// - Returns: whom to tell, the first time.
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

  /// What would be a login, or a user's name, in a head may be taken for one behind the body as well (RFC 9110 §6.5.1).
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

  /// What comes back, which passes as it is.
  private final class Answer: ResponseSink {
    private let exchange: UserExchange

    init(to exchange: UserExchange) {
      self.exchange = exchange
    }

    func informational(_ head: FieldSection) {
      exchange.sink?.informational(head)
    }

    func head(_ head: FieldSection, isComplete: Bool) {
      let sink = isComplete ? exchange.end() : exchange.sink
      sink?.head(head, isComplete: isComplete)
    }

    func write(_ bytes: ByteBuffer) {
      exchange.sink?.write(bytes)
    }

    func finish(trailers: FieldSection?) {
      exchange.end()?.finish(trailers: trailers)
    }

    func fail(_ error: BywayError) {
      exchange.end()?.fail(error)
    }

    func didConsumeRequest(_ bytes: Int) {
      exchange.sink?.didConsumeRequest(bytes)
    }

    func replayRequest() -> Bool { exchange.sink?.replayRequest() ?? false }
  }
}
