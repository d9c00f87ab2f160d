import FuzzSupport
import HTTP2Checks

/// What libFuzzer calls with each input that it has thought of.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP2(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, HTTP2Check.check)
}
