#include "names/parts.h"

#include <gtest/gtest.h>

namespace fbleprof::names {
namespace {

TEST(WithoutParameters, KeepsNamesThatOnlyResembleParameterLists) {
  EXPECT_EQ(without_parameters("f"), "f");
  EXPECT_EQ(without_parameters("a::b(int) const"), "a::b");
  EXPECT_EQ(without_parameters("f(void (*)(int))"), "f");
  EXPECT_EQ(without_parameters("operator()"), "operator()");
  EXPECT_EQ(without_parameters("X::operator()(int)"), "X::operator()");
}

TEST(Scope, IsThePartBeforeTheLastName) {
  EXPECT_EQ(scope_of("main"), "");
  EXPECT_EQ(scope_of("a::b"), "a");
  EXPECT_EQ(scope_of("a::B<c::D>::f(e::G) const"), "a::B");
  EXPECT_EQ(scope_of("void a::f<int>(int)"), "a");
  EXPECT_EQ(scope_of("(anonymous namespace)::f"), "(anonymous)");
  EXPECT_EQ(scope_of("a::(anonymous namespace)::B::f()"), "a::(anonymous)::B");
  EXPECT_EQ(scope_of("a::B::operator()(int)"), "a::B");
  EXPECT_EQ(scope_of("a::operators::f(int)"), "a::operators");
  EXPECT_EQ(unqualified("ns::my_operator<int>(int)"), "my_operator");
  EXPECT_EQ(unqualified("cooperator::f(int)"), "f");
  EXPECT_EQ(scope_of("a::B::operator<(a::B const&)"), "a::B");
  EXPECT_EQ(scope_of("a::f(int)::{lambda(int)#1}::operator()(int) const"), "a");
  EXPECT_EQ(scope_of("<alloc::vec::Vec<T> as core::ops::Drop>::drop"), "alloc::vec::Vec");
  EXPECT_EQ(scope_of("core::fmt::Formatter::pad"), "core::fmt::Formatter");
  EXPECT_EQ(scope_of("core::fmt::Formatter::pad [resume]"), "core::fmt::Formatter");
  EXPECT_EQ(scope_of("a::B::f(int) [resume]"), "a::B");
}

TEST(Scope, OutermostPart) {
  EXPECT_EQ(outermost_scope_of("a::b::c"), "a");
  EXPECT_EQ(outermost_scope_of("c"), "");
}

TEST(Scope, MalformedNamesAreAccepted) {
  for (const char* name : {"", "<", "<<<", "::", "operator", "a<b", ">>", "<a as ", "(", "a::"}) {
    (void)scope_of(name);
    (void)outermost_scope_of(name);
  }
}

}  // namespace
}  // namespace fbleprof::names
