import FuzzSupport
import InterceptorChecks

/// What libFuzzer calls with each input that it has thought of.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzURL(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, URLCheck.check)
}
