package import NIOCore
import NIOSSL

extension Channel {
  /// The DNS names in the remote end's certificate, in lower case; `nil` if it has shown none, or was not asked for one. On the channel's
  /// event loop, after the handshake, which has verified the certificate.
  package var certifiedNames: [String]? {
    peerCertificate?._subjectAlternativeNames().compactMap { name in
      name.nameType == .dnsName ? String(validating: name.contents, as: UTF8.self)?.lowercased() : nil
    }
  }

  /// The remote end's certificate, in DER; otherwise as ``certifiedNames``.
  package var certificateBytes: [UInt8]? { try? peerCertificate?.toDERBytes() }

  private var peerCertificate: NIOSSLCertificate? {
    (try? pipeline.syncOperations.handler(type: NIOSSLServerHandler.self))?.peerCertificate
  }
}
