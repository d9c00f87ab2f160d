package import NIOCore
import NIOSSL

extension Channel {
  /// The DNS names in the certificate that the far end has shown, in lower case; `nil` where it has shown none, or was not asked to. On
  /// the channel's event loop, after the handshake, which has verified the certificate.
  package var certifiedNames: [String]? {
    peerCertificate?._subjectAlternativeNames().compactMap { name in
      name.nameType == .dnsName ? String(validating: name.contents, as: UTF8.self)?.lowercased() : nil
    }
  }

  /// The certificate that the far end has shown, in DER; as ``certifiedNames`` has it.
  package var certificateBytes: [UInt8]? { try? peerCertificate?.toDERBytes() }

  private var peerCertificate: NIOSSLCertificate? {
    (try? pipeline.syncOperations.handler(type: NIOSSLServerHandler.self))?.peerCertificate
  }
}
