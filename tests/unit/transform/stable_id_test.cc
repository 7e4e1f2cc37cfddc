#include "transform/stable_id.h"

#include <gtest/gtest.h>

#include "profile/builder.h"

namespace fbleprof::transform {
namespace {

using namespace profile;

struct Parse {
  const char* home;  // the unit of native code, the file of a script
  std::uint32_t line = 0;
  FunctionKind kind = FunctionKind::kNative;
  Namesakes namesakes = Namesakes::kByUnit;
};

// The ids of functions called parse, in a profile that holds no others.
std::vector<std::uint64_t> ids(const std::vector<Parse>& functions) {
  ProfileBuilder builder;
  const ModuleId module = builder.add_module({.path = builder.string("/bin/prog")});
  std::uint64_t address = 0x1000;
  for (const Parse& f : functions) {
    FunctionKey key{.kind = f.kind, .name = builder.string("parse"), .line = f.line};
    if (f.kind == FunctionKind::kNative) {
      key.module = module;
      key.address = address += 16;
      key.unit = builder.string(f.home);
      key.namesakes = f.namesakes;
    } else {
      key.file = builder.string(f.home);
    }
    builder.add_function(key);
  }
  return stable_ids(builder.build());
}

TEST(StableId, NamesakesAreCountedByNoProfile) {
  const Parse a{"a.c"}, b{"b.c"}, global{""},
      alone{"a.c", 0, FunctionKind::kNative, Namesakes::kNone};
  const auto all = ids({a, b, global});
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(all[1], all[2]);
  EXPECT_EQ(ids({b}), std::vector(1, all[1]));
  EXPECT_EQ(ids({global, b})[0], all[2]);
  EXPECT_EQ(ids({global, b})[1], all[1]);
  // The only one has the id that it had before others came.
  EXPECT_EQ(ids({alone}), ids({global}));
}

TEST(StableId, ScriptsAreToldApartByTheirFiles) {
  const Parse a{"/x/a.py", 3, FunctionKind::kScript}, b{"/x/b.py", 3, FunctionKind::kScript},
      later{"/x/b.py", 9, FunctionKind::kScript};
  const auto all = ids({a, later, b});
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(all[1], all[2]);
  EXPECT_EQ(ids({b}), std::vector(1, all[2]));
}

TEST(StableId, WhatNothingTellsIsCounted) {
  const Parse unknown{"", 0, FunctionKind::kNative, Namesakes::kNotKnown};
  const auto all = ids({unknown, unknown});
  EXPECT_EQ(all[1], all[0] + 1);
}

}  // namespace
}  // namespace fbleprof::transform
