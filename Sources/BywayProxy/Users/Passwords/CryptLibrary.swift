import Byway
import BywayLibC

/// The system's libcrypt (crypt(3)). It is loaded only if passwords are used: a machine without it can still run everything else.
struct CryptLibrary: Sendable {
  private typealias Checksalt = @convention(c) (UnsafePointer<CChar>) -> CInt
  private typealias Hash =
    @convention(c) (
      UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutablePointer<UnsafeMutableRawPointer?>,
      UnsafeMutablePointer<CInt>
    ) -> UnsafeMutablePointer<CChar>?

  private static let name = "libcrypt.so.1"

  private let checksalt: Checksalt
  private let hash: Hash

  /// - Throws: ``BywayError`` with code `unreadableFile` if this machine has none.
  init() throws(BywayError) {
    guard let library = dlopen(Self.name, RTLD_NOW | RTLD_LOCAL), let checksalt = dlsym(library, "crypt_checksalt"),
      let hash = dlsym(library, "crypt_ra")
    else {
      throw BywayError(
        .unreadableFile,
        "This machine has no libcrypt that could check passwords: install libcrypt1 4.4 or later (libxcrypt).",
        processing: .none)
    }
    self.checksalt = unsafeBitCast(checksalt, to: Checksalt.self)
    self.hash = unsafeBitCast(hash, to: Hash.self)
  }

  /// Whether it can check passwords against that hash: CRYPT_SALT_OK, or CRYPT_SALT_METHOD_LEGACY for a kind that has been superseded.
  func knows(_ hash: PasswordHash) -> Bool { [0, 3].contains(checksalt(hash.text)) }

  /// Whether a password matches a hash. Slow on purpose. A password with a zero byte never matches, because that byte would end it.
  func matches(_ password: [UInt8], _ expected: PasswordHash) -> Bool {
    guard !password.contains(0) else { return false }
    var data: UnsafeMutableRawPointer?
    var size: CInt = 0
    defer {
      if let data {
        // Its content is as sensitive as the password.
        explicit_bzero(data, Int(max(size, 0)))
        free(data)
      }
    }
    var phrase = password.map { CChar(bitPattern: $0) } + [0]
    defer { phrase.withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } } }
    guard let found = hash(phrase, expected.text, &data, &size) else { return false }
    return Self.equal(UnsafeRawBufferPointer(start: found, count: strlen(found)), expected.text)
  }

  /// Compares two hashes. The time depends only on their length.
  private static func equal(_ found: UnsafeRawBufferPointer, _ expected: String) -> Bool {
    guard found.count == expected.utf8.count else { return false }
    return zip(found, expected.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
