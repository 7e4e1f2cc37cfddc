#include "symbolize/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

// The client depends on an HTTP library and two dozen more. It is loaded on demand, so that other
// reports start fast and do not require it.

namespace fbleprof::symbolize {
namespace {

struct Client {
  decltype(&debuginfod_begin) begin;
  decltype(&debuginfod_end) end;
  decltype(&debuginfod_find_debuginfo) find;
  decltype(&debuginfod_set_progressfn) set_progress;
  decltype(&debuginfod_set_user_data) set_user_data;
  decltype(&debuginfod_get_user_data) get_user_data;
};

std::optional<Client> load() {
  void* library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Client client{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  const bool is_whole = find(client.begin, "debuginfod_begin") &&
                        find(client.end, "debuginfod_end") &&
                        find(client.find, "debuginfod_find_debuginfo") &&
                        find(client.set_progress, "debuginfod_set_progressfn") &&
                        find(client.set_user_data, "debuginfod_set_user_data") &&
                        find(client.get_user_data, "debuginfod_get_user_data");
  return is_whole ? std::optional<Client>(client) : std::nullopt;
}

const std::optional<Client>& client() {
  static const std::optional<Client> loaded = load();
  return loaded;
}

using Progress = std::function<void(long, long)>;

int report(debuginfod_client* session, long done, long total) {
  const auto* progress = static_cast<const Progress*>(client()->get_user_data(session));
  if (*progress) (*progress)(done, total);
  return 0;
}

}  // namespace

std::optional<ElfObject> debug_file_by_debuginfod(const std::string& build_id,
                                                  const Progress& progress) {
  static bool has_failed = false;
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  if (has_failed || urls == nullptr || *urls == '\0' || build_id.empty()) return std::nullopt;
  if (!client()) return std::nullopt;
  debuginfod_client* session = client()->begin();
  if (session == nullptr) return std::nullopt;
  Progress copy = progress;
  client()->set_user_data(session, &copy);
  client()->set_progress(session, report);
  char* path = nullptr;
  const int fd = client()->find(session, reinterpret_cast<const unsigned char*>(build_id.data()),
                                static_cast<int>(build_id.size()), &path);
  std::optional<ElfObject> file;
  if (fd >= 0) {
    OpenError error{};
    if (path != nullptr) file = ElfObject::open(path, &error);
    if (file && file->build_id() != build_id) file.reset();
    close(fd);
  } else {
    // ENOENT: the server answered that it has no such file.
    has_failed = fd != -ENOENT;
  }
  std::free(path);
  client()->end(session);
  return file;
}

}  // namespace fbleprof::symbolize
