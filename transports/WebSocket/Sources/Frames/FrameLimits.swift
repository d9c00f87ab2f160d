/// The sizes of frames, in bytes of content.
package enum FrameLimits {
  /// The most in a received frame. The reader holds one frame until it is complete.
  package static let received = 64 << 10
  /// The most in a sent frame. A peer that waits for whole frames sees the first byte of a smaller one sooner.
  package static let sent = 16 << 10
}
