/// A settings file that is required and cannot be read. The evidence of an error.
struct UnusableFile: Sendable {
  let path: String
}
