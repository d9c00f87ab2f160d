package import TestTools

/// An nginx with one worker that serves a folder of files.
package final class NginxServer: Sendable {
  package let endpoint: Endpoint
  package let folder: TemporaryFolder
  private let process: ChildProcess

  /// - Parameters:
  ///   - folder: served under `/`; also contains the configuration and temporary files.
  ///   - http2: h2c with prior knowledge (nginx then accepts nothing else on the port), or h2 by ALPN with TLS.
  ///   - clientAuthority: the certificate of the authority that must have issued the clients' certificates.
  ///   - locations: additional `location` blocks.
  package init(
    in folder: TemporaryFolder, on wanted: Endpoint? = nil, http2: Bool = false, tls: Certificates.Identity? = nil,
    clientAuthority: String? = nil, locations: String = ""
  ) async throws {
    self.folder = folder
    endpoint = try wanted ?? .tcp(Endpoint.freePort())
    let listen = "\(endpoint)\(tls == nil ? "" : " ssl")\(http2 ? " http2" : "")"
    let clients = clientAuthority.map { "ssl_client_certificate \($0);\n    ssl_verify_client on;" } ?? ""
    let configuration = try folder.write(
      Self.configuration(folder, listen: listen, tls: tls, clients: clients, locations: locations), to: "nginx.conf")
    process = try ChildProcess(
      Program.nginx.path(), ["-c", configuration, "-p", folder.path, "-e", "stderr", "-g", "daemon off;"])
    try await endpoint.waitUntilReachable(by: process)
    _ = Ending { [process] in await process.stop() }
  }

  package func stop() async {
    await process.stop()
  }

  private static func configuration(
    _ folder: TemporaryFolder, listen: String, tls: Certificates.Identity?, clients: String, locations: String
  ) -> String {
    let certificate = tls.map { "ssl_certificate \($0.cert);\n    ssl_certificate_key \($0.key);" } ?? ""
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder[$0]);" }.joined(separator: "\n  ")
    return """
      worker_processes 1;
      pid \(folder["nginx.pid"]);
      error_log stderr warn;
      events { worker_connections 1024; }
      http {
        access_log off;
        types { text/plain txt; application/octet-stream bin; }
        client_max_body_size 0;
        sendfile on;
        \(temporary)
        server {
          listen \(listen);
          \(certificate)
          \(clients)
          root \(folder.path);
          location = /hello { return 200 "hello, byway\\n"; }
          \(locations)
        }
      }
      """
  }
}
