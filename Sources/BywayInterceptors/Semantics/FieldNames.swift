package import HTTPTypes

extension HTTPField.Name {
  /// Returns the name of a field. The text is a valid name.
  package static func known(_ name: StaticString) -> HTTPField.Name {
    HTTPField.Name("\(name)") ?? .contentType
  }

  /// A proxy's mark of a request that came in absolute form.
  package static let targetForm = known("byway-target-form")
  /// RFC 9530.
  package static let contentDigest = known("content-digest")
  package static let reprDigest = known("repr-digest")
  /// RFC 9211.
  static let cacheStatus = known("cache-status")
  /// RFC 9111 §5.4, obsolete.
  static let pragma = known("pragma")
  /// RFC 1864, obsolete.
  package static let contentMD5 = known("content-md5")
}
