// The functions of libunwind that glog calls to print the stack of a failed check, by the unwinder
// that C++ exceptions bring anyway. Debian's libunwind.a is not position-independent, so a static
// program that is cannot be linked with it.

#define UNW_LOCAL_ONLY
#include <algorithm>
#include <array>
#include <new>

#include <libunwind.h>
#include <unwind.h>

#if defined(__x86_64__)
namespace {

// It lives in the memory of a cursor, which glog owns.
struct Frames {
  std::array<unw_word_t, 64> addresses = {};
  size_t count = 0;
  size_t next = 0;
};
static_assert(sizeof(Frames) <= sizeof(unw_cursor_t));

Frames& frames_of(unw_cursor_t* cursor) { return *reinterpret_cast<Frames*>(cursor); }

_Unwind_Reason_Code add(_Unwind_Context* context, void* frames) {
  Frames& to = *static_cast<Frames*>(frames);
  if (to.count == to.addresses.size()) return _URC_END_OF_STACK;
  to.addresses[to.count++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

}  // namespace

extern "C" {

int unw_tdep_getcontext(unw_tdep_context_t*) { return 0; }

int unw_init_local(unw_cursor_t* cursor, unw_context_t*) {
  Frames& frames = *new (cursor) Frames;
  _Unwind_Backtrace(&add, &frames);
  // The first frame is this function.
  frames.next = std::min<size_t>(1, frames.count);
  return 0;
}

int unw_get_reg(unw_cursor_t* cursor, unw_regnum_t number, unw_word_t* value) {
  const Frames& frames = frames_of(cursor);
  if (number != UNW_REG_IP || frames.next == frames.count) return -UNW_EBADREG;
  *value = frames.addresses[frames.next];
  return 0;
}

// 1: there is one more frame.
int unw_step(unw_cursor_t* cursor) {
  Frames& frames = frames_of(cursor);
  if (frames.next == frames.count) return 0;
  return ++frames.next < frames.count ? 1 : 0;
}

}  // extern "C"
#endif
