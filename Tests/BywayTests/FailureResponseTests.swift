import Byway
import BywayHTTPWire
import Foundation
import HTTPTypes
import NIOCore
import Testing

@Suite struct FailureResponseTests {
  @Test("a failure response has Proxy-Status and a valid problem document, with any message")
  func renders() throws {
    let message = "Nothing \"listens\" at unix:/x\\y\u{1}é\n."
    let response = FailureResponse(BywayError(.originUnavailable, message), hop: "byway-gateway-1")
    #expect(response.head.status == 503)
    let status = try #require(response.head.value(of: .proxyStatus))
    #expect(status.hasPrefix("byway-gateway-1; error=destination_unavailable; details=\"Nothing \\\"listens\\\""))
    #expect(status.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    let json = try JSONSerialization.jsonObject(with: Data(response.body.readableBytesView)) as? [String: Any]
    #expect(json?["detail"] as? String == message)
    #expect(json?["status"] as? Int == 503)
    #expect(response.head.value(of: .contentLength) == "\(response.body.readableBytes)")
  }

  @Test("a TLS failure is reported with its reason, without names of files and functions")
  func reasonOfTLS() {
    struct Opaque: Error, CustomStringConvertible {
      let description =
        "sslError([Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at /a/b.cc:1])"
    }
    let error = BywayError(.originUntrusted, "No.", cause: Opaque())
    #expect(error.description == "No. (originUntrusted: certificate verify failed)")
    let closed = BywayError(.linkLost, "Gone.", cause: ChannelError.ioOnClosedChannel)
    #expect(closed.description == "Gone. (linkLost: the connection was closed)")
  }

  @Test("a cause from NIO has no names of types and cases, and one from a program's own code stays as it is")
  func reasonOfNIO() {
    struct Own: Error {}
    func text(_ cause: any Error) -> String { BywayError(.linkLost, "Gone.", cause: cause).description }
    #expect(text(NIOTooManyBytesError(maxBytes: 7)) == "Gone. (linkLost: too many bytes)")
    #expect(
      text(SocketAddressError.unixDomainSocketPathTooLong) == "Gone. (linkLost: unix domain socket path too long)")
    #expect(text(Own()) == "Gone. (linkLost: Own())")
  }

  @Test("a cause from the system is its text, without names of functions")
  func cause() throws {
    let cause = IOError(errnoCode: ECONNREFUSED, reason: "connect(descriptor:addr:size:)")
    let error = BywayError(.originUnavailable, "Nothing listens.", cause: cause)
    #expect(error.description == "Nothing listens. (originUnavailable: Connection refused)")
    #expect(String(buffer: FailureResponse(error, hop: "h").body).contains(#""cause":"Connection refused""#))
  }

  @Test(
    "each failure has a status that shows which party failed",
    arguments: [
      (BywayError.Code.linkUnavailable, 503), (.linkLost, 502), (.protocolViolation, 502), (.originUnavailable, 503),
      (.originUntrusted, 502), (.originLost, 502), (.incompleteResponse, 502), (.timedOut, 504), (.forbidden, 403),
      (.misdirected, 421),
      (.tooLarge, 413), (.loopDetected, 508), (.invalidRequest, 400), (.handlerFailed, 500),
    ])
  func statuses(_ code: BywayError.Code, _ status: Int) {
    #expect(FailureResponse(BywayError(code, "x"), hop: "h").head.status == status)
  }

  @Test("a browser gets an error page, which reloads where that may help and escapes the message")
  func page() throws {
    let accept = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
    let form = FailureResponse.Form(answering: [":method": "GET", "accept": accept])
    let down = FailureResponse(BywayError(.linkUnavailable, "<b>unix:/x</b> & is down."), hop: "h", form: form)
    let page = String(buffer: down.body)
    #expect(down.head.status == 503)
    #expect(down.head.value(of: .contentType) == "text/html; charset=utf-8")
    #expect(down.head.value(of: .proxyStatus)?.hasPrefix("h; error=destination_unavailable") == true)
    #expect(page.contains("<h1>The link is down</h1>") && page.contains("&lt;b&gt;unix:/x&lt;/b&gt; &amp; is down."))
    #expect(page.contains("http-equiv=\"refresh\"") && !page.contains("src=") && !page.contains("href="))
    let forbidden = FailureResponse(BywayError(.forbidden, "No."), hop: "h", form: form)
    #expect(!String(buffer: forbidden.body).contains("refresh"))
    for fields: FieldSection in [
      [":method": "GET", "accept": "*/*"], [":method": "POST", "accept": accept], [":method": "GET"],
    ] {
      guard case .problem = FailureResponse.Form(answering: fields) else {
        Issue.record("\(fields)")
        continue
      }
    }
  }

  @Test("a gRPC client gets a gRPC status in the head")
  func grpc() throws {
    let request: FieldSection = [":method": "POST", "content-type": "application/grpc+proto"]
    let error = BywayError(.linkUnavailable, "100% \u{e9}\n down.")
    let response = FailureResponse(error, hop: "byway-proxy-1", form: .init(answering: request))
    #expect(response.head.status == 200)
    #expect(response.head.value(of: .contentType) == "application/grpc")
    let fields = HTTPFields(response.head)
    #expect(fields?[.init("grpc-status")!] == "14")
    #expect(fields?[.init("grpc-message")!] == "100%25 %C3%A9%0A down.")
    #expect(response.body.readableBytes == 0)
    for type in ["application/grpc-web+proto", "application/json", "application/grp"] {
      guard case .problem = FailureResponse.Form(answering: ["content-type": type]) else {
        Issue.record("\(type)")
        continue
      }
    }
  }

  @Test("an error's description is safe to log")
  func description() {
    let error = BywayError(.forbidden, "No \"\u{9B}31m\u{202E}\" here\n", cause: BywayError(.timedOut, "\u{7F}"))
    #expect("\(error)" == "No \"?31m?\" here  (forbidden: ? (timedOut))")
  }
}
