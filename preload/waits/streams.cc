// Streams. Most calls find their data in the stream's buffer, and cannot block: these are passed on
// at once. The check compares pointers without a lock. Another thread may change the buffer
// meanwhile; then a wait is missed, or a call that does not block is recorded. Only the holder of
// the stream's lock may look into the buffer: another thread may free it, or put a character back,
// which moves the stream to another buffer.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "channels.h"

using namespace fbleprof::preload;

namespace {

std::size_t buffered(const FILE* stream) {
  const char *at = stream->_IO_read_ptr, *end = stream->_IO_read_end;
  return at < end ? static_cast<std::size_t>(end - at) : 0;
}

// Also 0 for line-buffered streams.
std::size_t room(const FILE* stream) {
  const char *at = stream->_IO_write_ptr, *end = stream->_IO_write_end;
  return at < end ? static_cast<std::size_t>(end - at) : 0;
}

bool is_line_there(const FILE* stream, std::size_t most, int end) {
  const std::size_t there = buffered(stream);
  return there >= most || memchr(stream->_IO_read_ptr, end, there) != nullptr;
}
bool has_buffered_line(FILE* stream, std::size_t most, int end) {
  if (buffered(stream) == 0 || ftrylockfile(stream) != 0) return false;
  const bool is_there = is_line_there(stream, most, end);
  funlockfile(stream);
  return is_there;
}
// `room`: that of the caller's buffer, with the 0 at the end. Where that is all there is room for,
// libc does not look at the stream, which may be null.
bool has_buffered_text(FILE* stream, int room) {
  return room <= 1 || has_buffered_line(stream, static_cast<unsigned>(room), '\n');
}
bool has_buffered_text_unlocked(const FILE* stream, int room) {
  return room <= 1 ||
         (buffered(stream) != 0 && is_line_there(stream, static_cast<unsigned>(room), '\n'));
}

FILE* stream_of(Word word) { return reinterpret_cast<FILE*>(word); }
bool has_room_for(const char* text, const FILE* stream) {
  const std::size_t there = room(stream);
  return there != 0 && strnlen(text, there) < there;
}

// Nothing to transfer: libc does not look at the stream, which may be null. An overflowing product
// is a call that fails or blocks.
bool is_there(Word size, Word count, const FILE* stream) {
  const auto bytes = static_cast<std::size_t>(size * count);
  return bytes == 0 || bytes <= buffered(stream);
}
bool fits(Word size, Word count, const FILE* stream) {
  const auto bytes = static_cast<std::size_t>(size * count);
  return bytes == 0 || bytes <= room(stream);
}

std::size_t pending(const FILE* stream) {
  const char *at = stream->_IO_write_ptr, *base = stream->_IO_write_base;
  return at > base ? static_cast<std::size_t>(at - base) : 0;
}

// What the call reads from the descriptor, or writes to it: less than its bytes, or more, because
// of the buffer. The read and write in libc are not wrapped, so nothing counts twice.
[[gnu::noinline]] Word read_in(Next& callee, std::uint64_t caller, const FILE* stream, Word size,
                               Word a, Word b, Word c, Word d, Word e) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(callee, caller);
  const std::size_t before = buffered(stream);
  const Word result = function(a, b, c, d, e, 0);
  waiting.has_read(result * size + static_cast<Word>(buffered(stream) - before));
  return result;
}
[[gnu::noinline]] Word write_in(Next& callee, std::uint64_t caller, Word a, Word size, Word count,
                                Word stream) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(callee, caller);
  const std::size_t before = pending(stream_of(stream));
  const Word result = function(a, size, count, stream, 0, 0);
  waiting.has_written(result * size + static_cast<Word>(before - pending(stream_of(stream))));
  return result;
}

// What is in the stream's buffer is about to be written. Null: in those of all streams.
void note_flush(FILE* stream, std::uint64_t caller) {
  if (stream == nullptr || pending(stream) == 0) return;
  const int saved_errno = errno;
  note_write(fileno_unlocked(stream), caller);
  errno = saved_errno;
}

}  // namespace

// A wrapper of up to five words, which cannot block if `is_at_once`.
#define FBLEPROF_STREAM(name, is_at_once)                                \
  FBLEPROF_WRAPPER(Word, name, Word a, Word b, Word c, Word d, Word e) { \
    if (is_at_once) return pass_on(next::name, a, b, c, d, e);           \
    return wait_in(next::name, FBLEPROF_CALLER, a, b, c, d, e);          \
  }

#define FBLEPROF_GETS(name, stream) FBLEPROF_STREAM(name, buffered(stream) != 0)
FBLEPROF_GETS(fgetc, stream_of(a))
FBLEPROF_GETS(getc, stream_of(a))
FBLEPROF_GETS(_IO_getc, stream_of(a))
FBLEPROF_GETS(getchar, stdin)

FBLEPROF_STREAM(fgets, has_buffered_text(stream_of(c), static_cast<int>(b)))
FBLEPROF_STREAM(fgets_unlocked, has_buffered_text_unlocked(stream_of(c), static_cast<int>(b)))
FBLEPROF_STREAM(__fgets_chk, has_buffered_text(stream_of(d), static_cast<int>(c)))
FBLEPROF_STREAM(__fgets_unlocked_chk, has_buffered_text_unlocked(stream_of(d), static_cast<int>(c)))

#define FBLEPROF_LINE(name, stream, end) \
  FBLEPROF_STREAM(name, has_buffered_line(stream_of(stream), ~std::size_t{0}, end))
FBLEPROF_LINE(getline, c, '\n')
FBLEPROF_LINE(getdelim, d, static_cast<int>(c))
FBLEPROF_LINE(__getdelim, d, static_cast<int>(c))

#define FBLEPROF_READ(name, size, count, stream)                                             \
  FBLEPROF_WRAPPER(Word, name, Word a, Word b, Word c, Word d, Word e) {                     \
    if (is_there(size, count, stream_of(stream))) return pass_on(next::name, a, b, c, d, e); \
    return read_in(next::name, FBLEPROF_CALLER, stream_of(stream), size, a, b, c, d, e);     \
  }
FBLEPROF_READ(fread, b, c, d)
FBLEPROF_READ(fread_unlocked, b, c, d)
FBLEPROF_READ(__fread_chk, c, d, e)
FBLEPROF_READ(__fread_unlocked_chk, c, d, e)

FBLEPROF_STREAM(fputc, room(stream_of(b)) != 0)
FBLEPROF_STREAM(putc, room(stream_of(b)) != 0)
FBLEPROF_STREAM(_IO_putc, room(stream_of(b)) != 0)
FBLEPROF_STREAM(putchar, room(stdout) != 0)
FBLEPROF_STREAM(fputs, has_room_for(reinterpret_cast<const char*>(a), stream_of(b)))
FBLEPROF_STREAM(fputs_unlocked, has_room_for(reinterpret_cast<const char*>(a), stream_of(b)))
FBLEPROF_STREAM(puts, has_room_for(reinterpret_cast<const char*>(a), stdout))
#define FBLEPROF_WRITE(name)                                                 \
  FBLEPROF_WRAPPER(Word, name, Word a, Word size, Word count, Word stream) { \
    if (fits(size, count, stream_of(stream))) {                              \
      return pass_on(next::name, a, size, count, stream);                    \
    }                                                                        \
    return write_in(next::name, FBLEPROF_CALLER, a, size, count, stream);    \
  }
FBLEPROF_WRITE(fwrite)
FBLEPROF_WRITE(fwrite_unlocked)

#define FBLEPROF_FLUSH(name)                             \
  FBLEPROF_WRAPPER(Word, name, Word stream) {            \
    note_flush(stream_of(stream), FBLEPROF_CALLER);      \
    return wait_in(next::name, FBLEPROF_CALLER, stream); \
  }
FBLEPROF_FLUSH(fflush)
FBLEPROF_FLUSH(fflush_unlocked)

// Functions with a list of arguments are wrapped as they are; those with `...` call them.
#define FBLEPROF_LISTED(name) FBLEPROF_STREAM(name, false)
FBLEPROF_LISTED(vprintf)
FBLEPROF_LISTED(vfprintf)
FBLEPROF_LISTED(__vprintf_chk)
FBLEPROF_LISTED(__vfprintf_chk)
FBLEPROF_LISTED(vscanf)
FBLEPROF_LISTED(vfscanf)
FBLEPROF_LISTED(__isoc99_vscanf)
FBLEPROF_LISTED(__isoc99_vfscanf)
FBLEPROF_LISTED(__isoc23_vscanf)
FBLEPROF_LISTED(__isoc23_vfscanf)

#define FBLEPROF_PASS_LIST(name, listed, last, type, ...)      \
  va_list list;                                                \
  va_start(list, last);                                        \
  auto* function = next::listed.as<type>();                    \
  if (function == nullptr) return static_cast<int>(missing()); \
  const Waiting waiting(next::name, FBLEPROF_CALLER);          \
  const int result = function(__VA_ARGS__, list);              \
  va_end(list);                                                \
  return result

#define FBLEPROF_VARIADIC_1(name, listed)                       \
  FBLEPROF_WRAPPER(int, name, Word a, ...) {                    \
    FBLEPROF_PASS_LIST(name, listed, a, int(Word, va_list), a); \
  }
#define FBLEPROF_VARIADIC_2(name, listed)                                \
  FBLEPROF_WRAPPER(int, name, Word a, Word b, ...) {                     \
    FBLEPROF_PASS_LIST(name, listed, b, int(Word, Word, va_list), a, b); \
  }
#define FBLEPROF_VARIADIC_3(name, listed)                                         \
  FBLEPROF_WRAPPER(int, name, Word a, Word b, Word c, ...) {                      \
    FBLEPROF_PASS_LIST(name, listed, c, int(Word, Word, Word, va_list), a, b, c); \
  }
FBLEPROF_VARIADIC_1(printf, vprintf)
FBLEPROF_VARIADIC_2(fprintf, vfprintf)
FBLEPROF_VARIADIC_2(__printf_chk, __vprintf_chk)
FBLEPROF_VARIADIC_3(__fprintf_chk, __vfprintf_chk)
FBLEPROF_VARIADIC_1(scanf, vscanf)
FBLEPROF_VARIADIC_2(fscanf, vfscanf)
FBLEPROF_VARIADIC_1(__isoc99_scanf, __isoc99_vscanf)
FBLEPROF_VARIADIC_2(__isoc99_fscanf, __isoc99_vfscanf)
FBLEPROF_VARIADIC_1(__isoc23_scanf, __isoc23_vscanf)
FBLEPROF_VARIADIC_2(__isoc23_fscanf, __isoc23_vfscanf)
// They write to a socket, and return nothing.
FBLEPROF_VARIADIC_2(syslog, vsyslog)
FBLEPROF_VARIADIC_3(__syslog_chk, __vsyslog_chk)

// These write to a descriptor at once.
#define FBLEPROF_LISTED_TO(name)                                  \
  FBLEPROF_WRAPPER(Word, name, Word fd, Word b, Word c, Word d) { \
    note_write(fd, FBLEPROF_CALLER);                              \
    return wait_in(next::name, FBLEPROF_CALLER, fd, b, c, d);     \
  }
FBLEPROF_LISTED_TO(vdprintf)
FBLEPROF_LISTED_TO(__vdprintf_chk)
FBLEPROF_WRAPPER(int, dprintf, Word fd, Word format, ...) {
  note_write(fd, FBLEPROF_CALLER);
  FBLEPROF_PASS_LIST(dprintf, vdprintf, format, int(Word, Word, va_list), fd, format);
}
FBLEPROF_WRAPPER(int, __dprintf_chk, Word fd, Word flag, Word format, ...) {
  note_write(fd, FBLEPROF_CALLER);
  FBLEPROF_PASS_LIST(__dprintf_chk, __vdprintf_chk, format, int(Word, Word, Word, va_list), fd,
                     flag, format);
}
