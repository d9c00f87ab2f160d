import BywayHTTPWire
import NIOCore

/// The rules for incoming frames that nghttp2 does not enforce: frames on ended streams (RFC 9113 §5.1, §5.1.1), priorities of
/// RFC 7540, and floods of frames that cost the peer nothing (§10.5).
struct InboundRules {
  private let role: HTTP2Session.Role
  /// The highest stream that a client opened, in either role.
  private var highestStream: StreamID = 0
  /// Streams that this end closed before the peer knew. Frames on them are not errors.
  private var forgiven = RecentStreams()
  /// Streams that the peer knows to have ended.
  private var ended = RecentStreams()
  private var resets: TokenBucket
  private var controlFrames: TokenBucket
  private var windowUpdates: TokenBucket
  private var tinyData: TokenBucket
  /// Whether a HEADERS frame arrived, but not yet its last CONTINUATION.
  private(set) var isInHeaderBlock = false

  init(role: HTTP2Session.Role, floods: HTTP2Configuration.Floods, at now: NIODeadline) {
    self.role = role
    resets = TokenBucket(floods.resets, at: now)
    controlFrames = TokenBucket(floods.controlFrames, at: now)
    windowUpdates = TokenBucket(floods.windowUpdates, at: now)
    tinyData = TokenBucket(floods.tinyData, at: now)
  }

  /// - Parameters:
  ///   - head: the frame's header and, for a PRIORITY frame, its dependency.
  ///   - isOpen: whether the stream is open.
  mutating func judge(
    _ header: FrameHeader, head: UnsafeRawBufferPointer, isOpen: Bool, at now: NIODeadline
  ) -> HTTP2Failure? {
    switch header.type {
    case FrameHeader.data:
      if !isOpen, let failure = judgeClosed(header) { return failure }
      return header.endsStream ? nil : countData(header.length, at: now)
    case FrameHeader.headers:
      if !isOpen, let failure = judgeClosed(header) { return failure }
      if role == .server { highestStream = max(highestStream, header.streamID) }
      // A client may widen the window of the stream that it has just opened.
      if !isOpen { windowUpdates.earn(1) }
      return nil
    case FrameHeader.continuation:
      // nghttp2 limits these.
      return nil
    case FrameHeader.windowUpdate:
      if windowUpdates.take(at: now) { return nil }
      return HTTP2Failure(.flooded, .enhanceYourCalm, "The peer sends too many WINDOW_UPDATE frames.")
    case FrameHeader.resetStream:
      return countReset(at: now)
    case FrameHeader.pushPromise:
      // A client may never send it. A server may not send it to us, because our SETTINGS disabled it before any request (§8.4).
      return HTTP2Failure(.violation, .protocolError, "The peer sent PUSH_PROMISE, which it may not.")
    case FrameHeader.priority:
      return judgePriority(header, head) ?? countControlFrame(at: now)
    default:
      return countControlFrame(at: now)
    }
  }

  /// Called after nghttp2 took the whole frame. `isOpen`: whether the stream is open now.
  mutating func frameEnded(_ header: FrameHeader, isOpen: Bool) {
    switch header.type {
    case FrameHeader.headers:
      isInHeaderBlock = !header.endsHeaders
      // The stream was refused, or opened after our GOAWAY: further frames on it are not a violation.
      if role == .server, !isOpen { forgiven.insert(header.streamID) }
    case FrameHeader.continuation:
      isInHeaderBlock = !header.endsHeaders
    default:
      break
    }
  }

  /// Counts a client's own request as opened.
  mutating func opened(_ id: StreamID) {
    highestStream = max(highestStream, id)
  }

  /// - Parameter isPeerDone: whether the peer had ended its side, so that none of its frames can be in flight.
  mutating func closed(_ id: StreamID, isPeerDone: Bool) {
    if isPeerDone { ended.insert(id) } else { forgiven.insert(id) }
  }

  /// Counts a reset. Streams that a client opens only to reset them, or to have them reset, waste work.
  mutating func countReset(at now: NIODeadline) -> HTTP2Failure? {
    guard role == .server, !resets.take(at: now) else { return nil }
    return HTTP2Failure(.flooded, .enhanceYourCalm, "The peer resets too many streams.")
  }

  /// Accounts for a sent DATA frame. The peer may answer it with two WINDOW_UPDATE frames, unless its windows made the frame
  /// small: a peer that grants single bytes would cause work for many frames (CVE-2019-9511).
  /// - Parameter isCut: whether more body bytes were ready to be sent.
  mutating func sentData(_ count: Int, isCut: Bool) {
    if !isCut || count >= 1024 { windowUpdates.earn(2) }
  }

  private mutating func countData(_ length: Int, at now: NIODeadline) -> HTTP2Failure? {
    if length == 0 { return countControlFrame(at: now) }
    if length >= FrameHeader.size || tinyData.take(at: now) { return nil }
    return HTTP2Failure(.flooded, .enhanceYourCalm, "The peer sends its bodies in too many small frames.")
  }

  private mutating func countControlFrame(at now: NIODeadline) -> HTTP2Failure? {
    if controlFrames.take(at: now) { return nil }
    return HTTP2Failure(.flooded, .enhanceYourCalm, "The peer sends too many empty frames.")
  }

  private func judgeClosed(_ header: FrameHeader) -> HTTP2Failure? {
    let id = header.streamID
    // Streams that were forgotten are treated as forgiven: that errs on the lenient side.
    guard id & 1 == 1, id <= highestStream, id > forgiven.horizon, !forgiven.contains(id) else { return nil }
    if ended.contains(id) {
      return HTTP2Failure(.violation, .streamClosed, "The peer sent a frame on stream \(id), which is closed.")
    }
    return HTTP2Failure(.violation, .protocolError, "The peer used stream \(id) after a higher one.")
  }

  private func judgePriority(_ header: FrameHeader, _ head: UnsafeRawBufferPointer) -> HTTP2Failure? {
    if header.streamID == 0 {
      return HTTP2Failure(.violation, .protocolError, "The peer sent a PRIORITY frame on stream 0.")
    }
    guard header.length == 5, head.count >= FrameHeader.size + 4 else { return nil }
    let dependency = head.loadUnaligned(fromByteOffset: FrameHeader.size, as: UInt32.self).bigEndian & 0x7FFF_FFFF
    guard dependency == UInt32(header.streamID) else { return nil }
    return HTTP2Failure(.violation, .protocolError, "The peer made stream \(dependency) depend on itself.")
  }
}
