import FuzzSupport
import InterceptorChecks

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStubFile(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, StubFileCheck.check)
}
