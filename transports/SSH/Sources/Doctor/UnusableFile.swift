/// A file of settings that has to be read and cannot be: what an error knows beyond its message.
struct UnusableFile: Sendable {
  let path: String
}
