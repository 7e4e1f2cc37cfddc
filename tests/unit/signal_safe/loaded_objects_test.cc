// Compares the table of loaded objects, which we keep for when the loader cannot be asked, with the
// loader's own answers.
#include "signal_safe/loaded_objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/loader_list.h"
#include "tests/support/refused_calls.h"

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

// -- Objects that nobody loaded --

constexpr std::uint64_t kPage = 4096;

// The first page of an object, and two more.
class Image {
 public:
  Image()
      : base_(static_cast<char*>(
            mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    auto& elf = header();
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phoff = sizeof elf;
    elf.e_phnum = 3;
    segment(0) = {PT_LOAD, PF_R, 0, kPage, 0, kPage, kPage, kPage};
    segment(1) = {PT_LOAD, PF_R, 0, 2 * kPage, 0, kPage, kPage, kPage};
    segment(2) = {PT_GNU_EH_FRAME, PF_R, 0, 2 * kPage, 0, 64, 64, 4};
    map.l_addr = begin();
    map.l_name = const_cast<char*>("image");
  }
  ~Image() { munmap(base_, 3 * kPage); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  std::uint64_t begin() const { return address_of(base_); }
  Elf64_Ehdr& header() { return *reinterpret_cast<Elf64_Ehdr*>(base_); }
  Elf64_Phdr& segment(std::uint32_t i) {
    return reinterpret_cast<Elf64_Phdr*>(base_ + sizeof(Elf64_Ehdr))[i];
  }

  link_map map{};

 private:
  char* base_;
};

class UnusualObjects : public testing::Test {
 protected:
  ~UnusualObjects() override {
    describe_program(nullptr, 0);
    ask_loader(nullptr);
    forget_unloaded_objects();
  }
  // Whether an address of the image is found if the list consists of a program and the image.
  static bool is_found(Image& image, LoadedObject* object) {
    Image program;
    forget_unloaded_objects();  // what the test showed before
    const test::LoaderList list({&program.map, &image.map});
    forget_unloaded_objects();
    const bool is = find_object(image.begin() + kPage, object);
    if (is) {
      EXPECT_STREQ(object->path, "image");
    }
    return is;
  }
};

TEST_F(UnusualObjects, HaveTheirSegmentsInAnyOrder) {
  Image image;
  std::swap(image.segment(0), image.segment(1));
  LoadedObject object;
  ASSERT_TRUE(is_found(image, &object));
  EXPECT_EQ(object.begin, image.begin() + kPage);
  EXPECT_EQ(object.end, image.begin() + 3 * kPage);
  EXPECT_EQ(address_of(object.eh_frame_header), image.begin() + 2 * kPage);
}

TEST_F(UnusualObjects, DamagedOnesAreNotTaken) {
  const auto is_taken = [](const std::function<void(Image&)>& damage) {
    Image image;
    damage(image);
    LoadedObject object;
    return is_found(image, &object);
  };
  EXPECT_TRUE(is_taken([](Image&) {}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(is_taken([i](Image& image) { image.header().e_ident[i] ^= 1; })) << i;
  }
  EXPECT_FALSE(is_taken([](Image& image) { image.header().e_phentsize = 32; }));
  EXPECT_FALSE(is_taken([](Image& image) { image.header().e_phoff = std::uint64_t{1} << 60; }));
  EXPECT_FALSE(is_taken([](Image& image) { image.header().e_phnum = 0; }));
  EXPECT_FALSE(is_taken([](Image& image) { image.map.l_addr = 8; })) << "nothing is there";
}

TEST_F(UnusualObjects, TheProgramMayNotBeginWithItsHeaders) {
  Image image;
  image.header().e_ident[0] = 0;
  describe_program(&image.segment(0), 3);
  const test::LoaderList list({&image.map});
  forget_unloaded_objects();
  LoadedObject object;
  ASSERT_TRUE(find_object(image.begin() + kPage, &object));
  EXPECT_EQ(object.begin, image.begin() + kPage);
  forget_unloaded_objects();
  describe_program(&image.segment(2), 1);
  Image other;
  EXPECT_FALSE(find_object(other.begin(), &object)) << "it is in no segment";
}

TEST_F(UnusualObjects, AnEntryOfTheListMayBeUsedAgain) {
  auto image = std::make_unique<Image>();
  LoadedObject object;
  ASSERT_TRUE(is_found(*image, &object));
  const std::uint64_t gone = image->begin();
  Image another;
  image->map.l_addr = another.begin();  // the loader's own memory is where it was
  {
    const test::LoaderList list({&image->map});
    forget_unloaded_objects();
    EXPECT_FALSE(find_object(gone + kPage, &object));
    EXPECT_TRUE(find_object(another.begin() + kPage, &object));
  }
}

TEST_F(UnusualObjects, TheLastEntryThatWasSeenMayBeGone) {
  auto* page = static_cast<link_map*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Image first, last, later;
  *page = last.map;
  LoadedObject object;
  {
    const test::LoaderList list({&first.map, page});
    forget_unloaded_objects();
    EXPECT_TRUE(find_object(last.begin() + kPage, &object));
    EXPECT_FALSE(find_object(8, &object));
  }
  munmap(page, kPage);
  const test::LoaderList list({&first.map, &later.map});
  EXPECT_TRUE(find_object(later.begin() + kPage, &object)) << "nobody told that one was unloaded";
}

TEST_F(UnusualObjects, ThereMayBeMoreThanAreKeptOrAListThatNeverEnds) {
  Image image;
  std::vector<link_map> many(4200, image.map);
  std::vector<link_map*> maps;
  for (link_map& each : many) maps.push_back(&each);
  LoadedObject object;
  {
    const test::LoaderList list(maps);
    forget_unloaded_objects();
    EXPECT_TRUE(find_object(image.begin() + kPage, &object));
    EXPECT_FALSE(find_object(8, &object));
  }
  forget_unloaded_objects();
  const test::LoaderList list({&image.map});
  image.map.l_next = &image.map;
  EXPECT_TRUE(find_object(image.begin() + kPage, &object));
  EXPECT_FALSE(find_object(8, &object));
  forget_unloaded_objects();
  EXPECT_TRUE(find_object(image.begin() + kPage, &object));
}

TEST_F(UnusualObjects, TheLoaderMayNotNameThem) {
  ask_loader(reinterpret_cast<void*>(+[](void* address, std::uint64_t* answer) {
    if (address_of(address) < 100) return -1;
    std::memset(answer, 0, 5 * sizeof *answer);
    answer[1] = 1000;
    answer[2] = 2000;
    return 0;
  }));
  LoadedObject object;
  EXPECT_FALSE(find_object(8, &object));
  ASSERT_TRUE(find_object(1500, &object));
  EXPECT_EQ(object.begin, 1000u);
  EXPECT_EQ(object.end, 2000u);
  EXPECT_EQ(object.load_bias, 0u);
  EXPECT_EQ(object.path, nullptr);
}

TEST_F(UnusualObjects, AreFoundInSandboxes) {
  for (const int error : {ENOSYS, EPERM}) {
    Image image;
    const bool has_run = test::without_calls({{SYS_process_vm_readv, error}}, [&] {
      LoadedObject object;
      EXPECT_TRUE(is_found(image, &object)) << error;
    });
    if (!has_run) GTEST_SKIP() << "no filters of system calls";
  }
}

TEST(LoadedObjectsDeathTest, OfAProgramThatForbidsItselfSystemCallsTheKnownOnesAreFound) {
  const auto finds = [] {
    Image image, later;
    const test::LoaderList list({&image.map, &later.map});
    image.map.l_next = nullptr;
    forget_unloaded_objects();
    LoadedObject object;
    if (!find_object(image.begin() + kPage, &object)) return 1;
    keep_known_objects();
    image.map.l_next = &later.map;
    forget_unloaded_objects();
    if (!find_object(image.begin() + kPage, &object)) return 2;
    return find_object(later.begin() + kPage, &object) ? 3 : 0;
  };
  EXPECT_EXIT(std::exit(finds()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fbleprof::signal_safe
