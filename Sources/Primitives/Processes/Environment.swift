import Glibc

/// What this process was given to know.
package enum Environment {
  /// `nil` where there is no variable of that name.
  package static subscript(name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
