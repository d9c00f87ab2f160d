import CBywaySSH2

/// The algorithms that this end offers in a key exchange (RFC 4253 §7.1), best first: none with SHA-1, MD5, CBC or RC4. libssh2
/// omits those that the installed version does not support.
enum SSHAlgorithms {
  static let keyExchange = [
    "curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256", "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521", "diffie-hellman-group16-sha512", "diffie-hellman-group18-sha512",
    "diffie-hellman-group14-sha256", "diffie-hellman-group-exchange-sha256",
  ]
  static let hostKey = [
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "rsa-sha2-512", "rsa-sha2-256",
  ]
  /// Counter mode first: libssh2 takes longer over the same bytes in GCM (Benchmarks).
  static let encryption = [
    "aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-gcm@openssh.com", "aes256-gcm@openssh.com",
  ]
  static let integrity = [
    "hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512",
  ]

  /// The offer by libssh2's number of the list, in the order of a KEXINIT.
  ///
  /// - Parameter preferred: the algorithms of the host's known keys; they come first.
  static func offer(preferring preferred: [String]) -> [(method: CInt, names: [String])] {
    let known = preferred.filter(hostKey.contains)
    return [
      (LIBSSH2_METHOD_KEX, keyExchange),
      (LIBSSH2_METHOD_HOSTKEY, known + hostKey.filter { !known.contains($0) }),
      (LIBSSH2_METHOD_CRYPT_CS, encryption), (LIBSSH2_METHOD_CRYPT_SC, encryption),
      (LIBSSH2_METHOD_MAC_CS, integrity), (LIBSSH2_METHOD_MAC_SC, integrity),
      (LIBSSH2_METHOD_COMP_CS, ["none"]), (LIBSSH2_METHOD_COMP_SC, ["none"]),
    ]
  }

  /// The part of the offer that the installed libssh2 supports, in the order of a KEXINIT.
  static let offered: [[String]] = offer(preferring: []).map { method, names in
    let supported = supported(method)
    return names.filter(supported.contains)
  }

  private static func supported(_ method: CInt) -> [String] {
    guard let session = libssh2_session_init_ex(nil, nil, nil, nil) else { return [] }
    defer { libssh2_session_free(session) }
    var list: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    let count = libssh2_session_supported_algs(session, method, &list)
    guard count > 0, let list else { return [] }
    defer { libssh2_free(session, list) }
    return (0..<Int(count)).compactMap { list[$0].map { String(cString: $0) } }
  }
}
