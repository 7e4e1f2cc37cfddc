// Calls that --waits wraps: one with seven arguments, streams that are looked at only if there is
// something to transfer, and a stream that several threads read. wait_arguments address | nothing |
// shared.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

// Declared only where a compiler checks sizes.
ssize_t __recvfrom_chk(int fd, void* to, size_t most, size_t room, int flags, void* from,
                       socklen_t* from_bytes);
char* __fgets_chk(char* to, size_t room, int most, FILE* stream);
char* __fgets_unlocked_chk(char* to, size_t room, int most, FILE* stream);
size_t __fread_chk(void* to, size_t room, size_t size, size_t count, FILE* stream);

// Each datagram tells the name of its sender, and how long the name is.
static void receive_address(void) {
  int pair[2];
  struct sockaddr_un own = {.sun_family = AF_UNIX}, peer = own, from;
  for (int i = 0; i < 2; ++i) {
    struct sockaddr_un* name = i == 0 ? &own : &peer;
    snprintf(name->sun_path + 1, 40, "%p %c", (void*)&own, 'a' + i);
    pair[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (bind(pair[i], (struct sockaddr*)name, 24) != 0) perror("bind");
  }
  for (int i = 0; i < 3; ++i) {
    char text[64] = "";
    socklen_t bytes = sizeof from;
    memset(&from, 0, sizeof from);
    if (sendto(pair[0], "hello", 5, 0, (struct sockaddr*)&peer, 24) != 5) perror("sendto");
    const ssize_t got = __recvfrom_chk(pair[1], text, 5, sizeof text, 0, &from, &bytes);
    printf("%d %s from %s, %d bytes\n", (int)got, text,
           memcmp(from.sun_path, own.sun_path, 22) == 0 ? "its sender" : "somebody", (int)bytes);
  }
}

// libc does not look at a stream from which it takes nothing.
static void transfer_nothing(void) {
  FILE* volatile none = NULL;
  volatile size_t zero = 0;
  char text[8] = "text";
  printf("%zu ", fwrite(text, 1, zero, none));
  printf("%zu ", fwrite_unlocked(text, zero, 1, none));
  printf("%zu ", fread(text, 1, zero, none));
  printf("%zu ", fread_unlocked(text, zero, 1, none));
  printf("%zu ", __fread_chk(text, sizeof text, 1, zero, none));
  printf("%d ", fgets(text, (int)zero, none) == NULL);
  printf("%d ", fgets_unlocked(text, (int)zero - 1, none) == NULL);
  printf("%d ", __fgets_chk(text, sizeof text, (int)zero, none) == NULL);
  printf("%d ", __fgets_unlocked_chk(text, sizeof text, (int)zero, none) == NULL);
  printf("%d ", fgets(text, (int)zero + 1, none) == text);
  printf("%s\n", *text == 0 ? "empty" : text);
}

// A stream without end, of lines that end with a byte that is nowhere else in memory. What is put
// back moves the stream to another buffer, in the main thread's heap.
enum { kEnd = 0xab, kRounds = 1000000 };
static FILE* shared;
static atomic_int left;

static ssize_t make_lines(void* unused, char* to, size_t room) {
  (void)unused;
  memset(to, 'x', room);
  for (size_t i = 900; i < room; i += 900) to[i] = (char)kEnd;
  return (ssize_t)room;
}
static void put_back(void) {
  flockfile(shared);
  getc_unlocked(shared);
  for (int i = 0; i < 3; ++i) ungetc('y', shared);
  funlockfile(shared);
}
static void* read_lines(void* unused) {
  char* line = NULL;
  size_t room = 0;
  while (atomic_fetch_sub(&left, 1) > 0) (void)!getdelim(&line, &room, kEnd, shared);
  free(line);
  return unused;
}
static void* put_more_back(void* unused) {
  while (atomic_load(&left) > 0) put_back();
  return unused;
}
static void read_shared(void) {
  static const cookie_io_functions_t functions = {.read = make_lines};
  enum { kBuffer = 4096 };
  char* buffer = mmap(NULL, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  shared = fopencookie(NULL, "r", functions);
  setvbuf(shared, buffer, _IOFBF, kBuffer);
  put_back();
  atomic_store(&left, kRounds);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    pthread_create(&threads[i], NULL, i % 2 ? put_more_back : read_lines, NULL);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  puts("read");
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "address")) receive_address();
  if (!strcmp(how, "nothing")) transfer_nothing();
  if (!strcmp(how, "shared")) read_shared();
  return 0;
}
