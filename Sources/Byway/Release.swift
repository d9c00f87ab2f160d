/// The release of everything in this package. CHANGELOG.md says what each brought.
package enum Release {
  /// Semantic (semver.org): until 1.0.0 a minor release may change what is public.
  package static let version = "0.1.0"
}
