import Foundation
import TestPeers
import TestTools

/// A web server or load balancer in front of a hub, with the configuration that its own manual shows for WebSockets.
struct FrontServer: Sendable {
  enum Kind: String, Sendable, CaseIterable {
    case nginx, haproxy, caddy
  }

  let endpoint: Endpoint
  private let process: ChildProcess

  init(_ kind: Kind, in folder: TemporaryFolder, to hub: String, tls: Certificates.Identity? = nil) async throws {
    let endpoint = try Endpoint.tcp(Endpoint.freePort())
    self.endpoint = endpoint
    switch kind {
    case .nginx: process = try Self.nginx(folder, "\(endpoint)", hub, tls)
    case .haproxy: process = try Self.haproxy(folder, "\(endpoint)", hub, tls)
    case .caddy: process = try Self.caddy(folder, "\(endpoint)", hub, tls)
    }
    try await endpoint.waitUntilReachable(by: process)
  }

  func stop() async {
    await process.stop()
  }

  private static func nginx(
    _ folder: TemporaryFolder, _ listen: String, _ hub: String, _ tls: Certificates.Identity?
  ) throws -> ChildProcess {
    let certificate = tls.map { "ssl_certificate \($0.cert); ssl_certificate_key \($0.key);" } ?? ""
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder[$0]);" }.joined(separator: "\n  ")
    let configuration = try folder.write(
      """
      worker_processes 1;
      pid \(folder["nginx.pid"]);
      error_log stderr crit;
      events { worker_connections 256; }
      http {
        access_log off;
        \(temporary)
        server {
          listen \(listen)\(tls == nil ? "" : " ssl");
          \(certificate)
          location /byway {
            proxy_pass http://\(hub);
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
          }
          location /plain { proxy_pass http://\(hub); }
        }
      }
      """, to: "nginx.conf")
    return try ChildProcess(
      Program.nginx.path(), ["-c", configuration, "-p", folder.path, "-e", "stderr", "-g", "daemon off;"])
  }

  private static func haproxy(
    _ folder: TemporaryFolder, _ listen: String, _ hub: String, _ tls: Certificates.Identity?
  ) throws -> ChildProcess {
    var bind = listen
    if let tls {
      let pair = try [tls.cert, tls.key].map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
      bind += " ssl crt \(try folder.write(pair, to: "pair.pem"))"
    }
    return try HaproxyServer.start(in: folder, at: bind, servers: [hub])
  }

  private static func caddy(
    _ folder: TemporaryFolder, _ listen: String, _ hub: String, _ tls: Certificates.Identity?
  ) throws -> ChildProcess {
    let configuration = try folder.write(
      """
      {
        admin off
        auto_https off
        storage file_system \(folder["storage"])
      }
      \(tls == nil ? "http" : "https")://\(listen) {
        \(tls.map { "tls \($0.cert) \($0.key)" } ?? "")
        reverse_proxy \(hub)
      }

      """, to: "Caddyfile")
    return try ChildProcess(
      Program.caddy.path(), ["run", "--config", configuration, "--adapter", "caddyfile"],
      environment: ["HOME": folder.path])
  }
}
