// A program whose library defines names of libc's for functions of its own; libc's are not called.
#include <unistd.h>

void call_own_names(const char* when);

int main(void) {
  call_own_names("main");
  usleep(50000);
  call_own_names("later");
  return 0;
}
