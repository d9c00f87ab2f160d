import Foundation
import FoundationNetworking
@_spi(Reflection) import Swift

/// The place where Foundation looks for the file of a download task: `URLProtocol.properties[.temporaryFileURL]`, which only
/// its own protocol classes can name.
struct TemporaryFileSlot: Sendable {
  /// `nil` where this version of Foundation is built differently.
  static let ofFoundation: TemporaryFileSlot? = {
    guard let slot = TemporaryFileSlot(in: URLProtocol.self), slot.works else { return nil }
    return slot
  }()

  /// In bytes, from the beginning of an object.
  private let offset: Int
  private let properties: any ProtocolProperties.Type

  /// Finds the place in the stored properties of a class.
  init?(in loader: AnyClass) {
    var found: (Int, any ProtocolProperties.Type)?
    // Unless told that it is a class, Swift looks for the fields of a structure. `classType` has the value 1; its name is a
    // variable, which strict concurrency refuses.
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

  /// Tells Foundation which file the task has filled. On the task's work queue.
  func store(_ file: URL, in loader: URLProtocol) {
    properties.store(file, at: Unmanaged.passUnretained(loader).toOpaque() + offset)
  }

  /// Whether what is stored can be read by its name afterwards.
  private var works: Bool {
    let request = URLRequest(url: URL(fileURLWithPath: "/"))
    let (loader, file) = (
      URLProtocol(request: request, cachedResponse: nil, client: nil), URL(fileURLWithPath: "/file")
    )
    store(file, in: loader)
    return (Reflection(loader)["properties"] as? any ProtocolProperties)?.temporaryFile == file
  }
}

/// A dictionary whose keys have a type that only Foundation can name.
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
