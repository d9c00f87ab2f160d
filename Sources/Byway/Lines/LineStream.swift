import BywayLineLayer
import NIOCore

/// The carrier of one stream of a line's session.
final class LineStream: StreamCarrier {
  let number: Int
  private let streams: LineStreams
  private(set) lazy var channel = StreamChannel(
    on: streams.session.eventLoop, carrier: self, parent: streams.session.parent)

  init(_ number: Int, of streams: LineStreams) {
    self.number = number
    self.streams = streams
  }

  var room: Int { streams.room(of: number) }
  var backlog: Int { streams.backlog(of: number) }
  var lineStatistics: LineStatistics? { streams.session.lineStatistics }
  var interruption: LineInterruption? { streams.session.interruption }
  var arrivalBegan: NIODeadline? { streams.session.arrivalBegan }
  var streamLimit: Int? { streams.count }

  func write(_ bytes: ByteBuffer) { streams.write(bytes, to: number) }

  func flush() { streams.pump() }

  func consumed(_ count: Int) { streams.consumed(count, of: number) }

  func closeOutput() { streams.finish(number) }

  func close() { streams.leave(self, aborts: false) }

  func abort() { streams.leave(self, aborts: true) }
}
