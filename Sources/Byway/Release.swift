/// The release of this package. CHANGELOG.md lists the changes.
package enum Release {
  /// Semantic versioning (semver.org): until 1.0.0 a minor release may change the public interface.
  package static let version = "0.1.0"
}
