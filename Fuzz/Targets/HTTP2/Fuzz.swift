import FuzzSupport
import HTTP2Checks

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP2(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, HTTP2Check.check)
}
