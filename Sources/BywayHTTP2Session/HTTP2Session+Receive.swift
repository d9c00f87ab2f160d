import CBywayNGHTTP2
package import NIOCore

extension HTTP2Session {
  /// Processes bytes from the link. Errors are reported by an event.
  package func receive(_ bytes: consuming ByteBuffer, at now: NIODeadline) {
    guard !phase.hasFailed, bytes.readableBytes > 0 else { return }
    self.now = now
    activity.received(at: now)
    timers[.pong] = nil
    receivedInformationalSize = 0
    incoming = bytes
    bytes.withUnsafeReadableBytes { feed($0) }
    incomingBase = nil
    incoming = ByteBuffer()
    watchHeaderBlock()
    watchIdleness()
  }

  /// Handles the end of the link's input. Its meaning for open streams depends on the role, so the owner handles that. If too
  /// few bytes arrived to recognize HTTP/2, an event describes the peer.
  package func receiveEnd(at now: NIODeadline) {
    self.now = now
    if let failure = preface.unsettled("ended the link") { fail(failure) }
  }

  private func feed(_ bytes: UnsafeRawBufferPointer) {
    incomingBase = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    if let failure = preface.judge(bytes) { return fail(failure) }
    var rest = bytes
    while !phase.hasFailed {
      switch splitter.next(&rest) {
      case .begin(let header, let bytes):
        begin(header, bytes)
      case .assembled(let header, let bytes):
        bytes.withUnsafeBytes { begin(header, $0) }
      case .more(let bytes):
        pass(bytes)
      case .wait:
        return
      }
    }
  }

  private func begin(_ header: FrameHeader, _ bytes: UnsafeRawBufferPointer) {
    let isOpen = streams.contains(header.streamID)
    if let failure = rules.judge(header, head: bytes, isOpen: isOpen, at: now) { return fail(failure) }
    pass(bytes)
  }

  private func pass(_ bytes: UnsafeRawBufferPointer) {
    let taken = nghttp2_session_mem_recv(
      engine, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    if taken < 0 { return failReceiving(Int32(taken)) }
    guard splitter.left == 0 else { return }
    if let header = splitter.header { rules.frameEnded(header, isOpen: streams.contains(header.streamID)) }
    if !rules.isInHeaderBlock { timers[.headerBlock] = nil }
  }

  /// Handles a receive error for which nghttp2 sends no GOAWAY itself.
  private func failReceiving(_ result: Int32) {
    switch result {
    case NGHTTP2_ERR_FLOODED.rawValue:
      fail(.flooded, .enhanceYourCalm, "The peer sends requests without reading the answers.")
    case NGHTTP2_ERR_NOMEM.rawValue:
      accept(result)
    default:
      fail(.violation, .protocolError, "The peer broke HTTP/2: \(String(cString: nghttp2_strerror(result))).")
    }
  }

  private func watchHeaderBlock() {
    guard !phase.hasFailed else { return }
    let isWaiting =
      rules.isInHeaderBlock || (!splitter.isAtBoundary && splitter.header?.type != FrameHeader.data)
    if !isWaiting {
      timers[.headerBlock] = nil
    } else if timers[.headerBlock] == nil {
      timers[.headerBlock] = now + configuration.timeouts.headerBlock
    }
  }
}
