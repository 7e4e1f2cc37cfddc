// Compares the table of loaded objects, which we keep for when the loader cannot be asked, with the
// loader's own answers.
#include "signal_safe/loaded_objects.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fbleprof::signal_safe {
namespace {

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

// One address in each object of the loader's list: its dynamic section.
std::vector<std::uint64_t> an_address_of_each() {
  std::vector<std::uint64_t> addresses;
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    addresses.push_back(address_of(map->l_ld));
  }
  return addresses;
}

TEST(LoadedObjects, TheOwnTableSaysWhatTheLoaderSays) {
  for (const std::uint64_t address : an_address_of_each()) {
    dl_find_object theirs;
    if (_dl_find_object(reinterpret_cast<void*>(address), &theirs) != 0) continue;
    LoadedObject ours;
    ASSERT_TRUE(find_object(address, &ours)) << theirs.dlfo_link_map->l_name;
    EXPECT_EQ(ours.begin, address_of(theirs.dlfo_map_start)) << theirs.dlfo_link_map->l_name;
    EXPECT_EQ((ours.end + 4095) / 4096, (address_of(theirs.dlfo_map_end) + 4095) / 4096)
        << theirs.dlfo_link_map->l_name;
    EXPECT_EQ(address_of(ours.eh_frame_header), address_of(theirs.dlfo_eh_frame));
    EXPECT_EQ(ours.load_bias, theirs.dlfo_link_map->l_addr);
    EXPECT_STREQ(ours.path, theirs.dlfo_link_map->l_name);
  }
}

TEST(LoadedObjects, AnAddressInNoObjectIsNotFound) {
  const std::vector<char> heap(100);
  LoadedObject object;
  EXPECT_FALSE(find_object(address_of(heap.data()), &object));
  EXPECT_FALSE(find_object(8, &object));
}

TEST(LoadedObjects, WhatIsLoadedLaterIsFoundAndWhatIsUnloadedIsNot) {
  LoadedObject object;
  ASSERT_TRUE(find_object(address_of(reinterpret_cast<void*>(&an_address_of_each)), &object));
  for (int round = 0; round < 5000; ++round) {
    void* library = dlopen("libanl.so.1", RTLD_NOW);
    if (library == nullptr) GTEST_SKIP() << dlerror();
    const link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    const std::uint64_t inside = address_of(map->l_ld);
    ASSERT_TRUE(find_object(inside, &object)) << "round " << round;
    EXPECT_EQ(object.load_bias, map->l_addr);
    dlclose(library);
    forget_unloaded_objects();
    ASSERT_FALSE(find_object(inside, &object)) << "round " << round;
  }
}

}  // namespace
}  // namespace fbleprof::signal_safe
