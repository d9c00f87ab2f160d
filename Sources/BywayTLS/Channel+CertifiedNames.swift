package import NIOCore
import NIOSSL

extension Channel {
  /// The DNS names in the certificate that the far end has shown, in lower case; `nil` where it has shown none, or was not asked to. On
  /// the channel's event loop, after the handshake, which has verified the certificate.
  package var certifiedNames: [String]? {
    let handler = try? pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)
    return handler?.peerCertificate?._subjectAlternativeNames().compactMap { name in
      name.nameType == .dnsName ? String(validating: name.contents, as: UTF8.self)?.lowercased() : nil
    }
  }
}
