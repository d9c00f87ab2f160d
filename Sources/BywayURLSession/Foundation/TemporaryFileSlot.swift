import Foundation
import FoundationNetworking
@_spi(Reflection) import Swift

/// The slot in which Foundation looks for the file of a download task: `URLProtocol.properties[.temporaryFileURL]`, which only
/// its own protocol classes can name.
struct TemporaryFileSlot: Sendable {
  /// The slot; `nil` if the internals of this version of Foundation differ.
  static let ofFoundation: TemporaryFileSlot? = {
    guard let slot = TemporaryFileSlot(in: URLProtocol.self), slot.works else { return nil }
    return slot
  }()

  /// The offset in bytes from the beginning of an object.
  private let offset: Int
  private let properties: any ProtocolProperties.Type

  /// Finds the slot in the stored properties of a class.
  init?(in loader: AnyClass) {
    var found: (Int, any ProtocolProperties.Type)?
    // By default Swift looks for the fields of a structure; the option selects classes. Its name `classType` is a variable,
    // which strict concurrency refuses; its value is 1.
    _forEachField(of: loader, options: _EachFieldOptions(rawValue: 1)) { name, offset, type, _ in
      guard String(cString: name) == "properties", let type = type as? any ProtocolProperties.Type, type.hasKey else {
        return true
      }
      found = (offset, type)
      return false
    }
    guard let found else { return nil }
    (offset, properties) = found
  }

  /// Stores the file that the task has filled, for Foundation. Call it on the task's work queue.
  func store(_ file: URL, in loader: URLProtocol) {
    properties.store(file, at: Unmanaged.passUnretained(loader).toOpaque() + offset)
  }

  /// Whether a stored file can be read by its name.
  private var works: Bool {
    let request = URLRequest(url: URL(fileURLWithPath: "/"))
    let (loader, file) = (
      URLProtocol(request: request, cachedResponse: nil, client: nil), URL(fileURLWithPath: "/file")
    )
    store(file, in: loader)
    return (Reflection(loader)["properties"] as? any ProtocolProperties)?.temporaryFile == file
  }
}

/// A dictionary whose key type only Foundation can name.
private protocol ProtocolProperties: SendableMetatype {
  static var hasKey: Bool { get }
  static func store(_ file: URL, at place: UnsafeMutableRawPointer)
  var temporaryFile: URL? { get }
}

extension Dictionary: ProtocolProperties where Key: RawRepresentable, Key.RawValue == String, Value == Any {
  private static var key: Key? { Key(rawValue: "temporaryFileURL") }

  fileprivate static var hasKey: Bool { key != nil }

  fileprivate static func store(_ file: URL, at place: UnsafeMutableRawPointer) {
    guard let key else { return }
    place.assumingMemoryBound(to: Self.self).pointee[key] = file
  }

  fileprivate var temporaryFile: URL? { Self.key.flatMap { self[$0] as? URL } }
}
