import BywayLibC
import CBywayNGHTTP2

/// The memory of nghttp2 for one session. The pieces that one stream frees are reused for the next.
///
/// The C library caches only seven pieces of a size, and a connection has many streams that open and close together.
final class EngineMemory {
  /// The header before each piece. It keeps the piece aligned.
  private struct Header {
    let size: Int
    /// The shelf that the piece returns to when it is freed; `nil` for the C library.
    let shelf: Int8?
  }

  private struct Shelf {
    let size: Int
    /// A linked list: each free piece starts with the address of the next one.
    var first: UnsafeMutableRawPointer?
    var count = 0
  }

  private static let headerSize = 16
  /// The number of free pieces of one size that are kept.
  private static let keptCount = 128
  /// The size of the smallest pieces that are kept; those of each further shelf are twice as large. nghttp2 needs them for a stream, a
  /// queued frame, and the fields of a head.
  private static let smallestSize = 64
  /// An array would check at each use whether it is shared.
  private var shelves = InlineArray<4, Shelf> { Shelf(size: smallestSize << $0) }

  deinit {
    for index in shelves.indices {
      var next = shelves[index].first
      while let piece = next {
        next = piece.load(as: UnsafeMutableRawPointer?.self)
        free(piece - Self.headerSize)
      }
    }
  }

  /// The functions that nghttp2 calls. The memory must outlive the session that uses it.
  var functions: nghttp2_mem {
    nghttp2_mem(
      mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
      malloc: { size, user in EngineMemory.with(user) { $0.take(size) } },
      free: { piece, user in EngineMemory.with(user) { $0.giveBack(piece) } },
      calloc: { count, size, user in EngineMemory.with(user) { $0.takeZeroed(count, size) } },
      realloc: { piece, size, user in EngineMemory.with(user) { $0.resize(piece, size) } })
  }

  @discardableResult
  private static func with<Result>(_ user: UnsafeMutableRawPointer?, _ body: (EngineMemory) -> Result?) -> Result? {
    user.flatMap { Unmanaged<EngineMemory>.fromOpaque($0)._withUnsafeGuaranteedRef(body) }
  }

  func take(_ size: Int) -> UnsafeMutableRawPointer? {
    let index = Self.shelf(for: size)
    guard index < shelves.count else { return make(size, shelf: nil) }
    guard let piece = shelves[index].first else { return make(shelves[index].size, shelf: Int8(index)) }
    shelves[index].first = piece.load(as: UnsafeMutableRawPointer?.self)
    shelves[index].count -= 1
    return piece
  }

  /// Returns the index of the smallest size that is enough; larger than any index if none is.
  private static func shelf(for size: Int) -> Int {
    size <= smallestSize ? 0 : Int.bitWidth - (size - 1).leadingZeroBitCount - smallestSize.trailingZeroBitCount
  }

  private func make(_ size: Int, shelf: Int8?) -> UnsafeMutableRawPointer? {
    let (total, overflow) = size.addingReportingOverflow(Self.headerSize)
    guard !overflow, let start = malloc(total) else { return nil }
    start.storeBytes(of: Header(size: size, shelf: shelf), as: Header.self)
    return start + Self.headerSize
  }

  func giveBack(_ piece: UnsafeMutableRawPointer?) {
    guard let piece else { return }
    let header = header(of: piece)
    guard let shelf = header.shelf, shelves[Int(shelf)].count < Self.keptCount else {
      return free(piece - Self.headerSize)
    }
    let index = Int(shelf)
    piece.storeBytes(of: shelves[index].first, as: UnsafeMutableRawPointer?.self)
    shelves[index].first = piece
    shelves[index].count += 1
  }

  func takeZeroed(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
    let (total, overflow) = count.multipliedReportingOverflow(by: size)
    guard !overflow, let piece = take(total) else { return nil }
    memset(piece, 0, total)
    return piece
  }

  func resize(_ piece: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
    guard let piece else { return take(size) }
    let held = header(of: piece).size
    if size <= held { return piece }
    guard let larger = take(size) else { return nil }
    larger.copyMemory(from: piece, byteCount: held)
    giveBack(piece)
    return larger
  }

  private func header(of piece: UnsafeMutableRawPointer) -> Header {
    (piece - Self.headerSize).load(as: Header.self)
  }
}
