#include "names/shorten.h"

#include <gtest/gtest.h>

namespace fbleprof::names {
namespace {

TEST(Tidy, UsesTheShortNamesOfStrings) {
  EXPECT_EQ(tidy("f(std::__cxx11::basic_string<char, std::char_traits<char>, "
                 "std::allocator<char> > const&)"),
            "f(std::string const&)");
  EXPECT_EQ(tidy("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
                 ">::append(char const*)"),
            "std::string::append(char const*)");
  EXPECT_EQ(tidy("g(std::basic_string_view<wchar_t, std::char_traits<wchar_t> >)"),
            "g(std::wstring_view)");
  EXPECT_EQ(tidy("std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
                 "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, "
                 "char const*)"),
            "std::ostream& std::operator<< <std::char_traits<char>>(std::ostream&, char const*)");
}

TEST(Tidy, DropsDefaultArgumentsOfStdTemplates) {
  EXPECT_EQ(tidy("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            "std::vector<int>::push_back(int const&)");
  EXPECT_EQ(tidy("std::map<std::__cxx11::basic_string<char, std::char_traits<char>, "
                 "std::allocator<char> >, int, std::less<std::__cxx11::basic_string<char, "
                 "std::char_traits<char>, std::allocator<char> > >, "
                 "std::allocator<std::pair<std::__cxx11::basic_string<char, "
                 "std::char_traits<char>, std::allocator<char> > const, int> > >::clear()"),
            "std::map<std::string, int>::clear()");
}

TEST(Tidy, KeepsArgumentsThatAreNotDefaults) {
  EXPECT_EQ(tidy("std::map<int, int, Backwards, std::allocator<int> >"),
            "std::map<int, int, Backwards>");
  EXPECT_EQ(tidy("Mine<int, std::allocator<int> >"), "Mine<int, std::allocator<int>>");
  EXPECT_EQ(tidy("std::allocator<int>::allocate(unsigned long)"),
            "std::allocator<int>::allocate(unsigned long)");
}

TEST(Tidy, RemovesTagsAndInlineNamespaces) {
  EXPECT_EQ(tidy("f[abi:cxx11](int)"), "f(int)");
  EXPECT_EQ(tidy("std::__1::vector<int, std::__1::allocator<int> >::size() const"),
            "std::vector<int>::size() const");
  EXPECT_EQ(tidy("(anonymous namespace)::f()"), "(anon)::f()");
}

TEST(Shorten, KeepsNamesThatFit) {
  EXPECT_EQ(shorten("ns::f(int)", 10), "ns::f(int)");
  EXPECT_EQ(shorten("main", 80), "main");
  EXPECT_EQ(shorten("", 10), "");
}

TEST(Shorten, ElidesParametersFirst) {
  EXPECT_EQ(shorten("ns::Foo<int>::bar(std::vector<int>, double) const", 30),
            "ns::Foo<int>::bar(…) const");
  EXPECT_EQ(shorten("main()", 6), "main()");
}

TEST(Shorten, ElidesTheReturnTypeNext) {
  EXPECT_EQ(shorten("std::enable_if<true, int>::type ns::f<int>(int)", 14), "ns::f<int>(…)");
  EXPECT_EQ(shorten("unsigned long f<int>(int, int, int)", 12), "f<int>(…)");
}

TEST(Shorten, ElidesTemplateArgumentsNextInnermostFirst) {
  const std::string_view name = "f<A<B<C>>, D<E>>(int)";
  EXPECT_EQ(shorten(name, 20), "f<A<B<C>>, D<E>>(…)");
  EXPECT_EQ(shorten(name, 18), "f<A<…>, D<…>>(…)");
  EXPECT_EQ(shorten(name, 9), "f<…>(…)");
}

TEST(Shorten, ElidesNamespacesAndTheEndLast) {
  EXPECT_EQ(shorten("alpha::beta::gamma::delta", 15), "…::gamma::delta");
  EXPECT_EQ(shorten("alpha::beta::gamma::delta", 10), "…::delta");
  EXPECT_EQ(shorten("a_very_long_name_without_scopes", 10), "a_very_lo…");
  EXPECT_EQ(shorten("abc", 1), "…");
}

TEST(Shorten, WithoutWidthElidesEverythingButTheName) {
  EXPECT_EQ(shorten("int ns::Foo<int>::bar<long>(char)", 0), "…::bar<…>(…)");
}

TEST(Shorten, DistinguishesOperatorsFromBrackets) {
  EXPECT_EQ(shorten("ns::operator<(ns::Key const&, ns::Key const&)", 20), "ns::operator<(…)");
  EXPECT_EQ(shorten("Functor::operator()(int, int, int) const", 30),
            "Functor::operator()(…) const");
  EXPECT_EQ(shorten("X::operator-><int>(int, int, int)", 24), "X::operator-><int>(…)");
  EXPECT_EQ(shorten("Long::operator std::string() const", 25).find('\n'), std::string::npos);
  EXPECT_EQ(shorten("my_operator<int>(int, int)", 19), "my_operator<int>(…)");
}

TEST(Shorten, KeepsTextThatIsNotAReturnType) {
  EXPECT_EQ(shorten("non-virtual thunk to ns::Foo::bar(int, int)", 36),
            "non-virtual thunk to ns::Foo::bar(…)");
  EXPECT_EQ(shorten("(anonymous namespace)::visit(int, int, int)", 20), "(anon)::visit(…)");
}

TEST(Shorten, CountsCharactersNotBytes) {
  EXPECT_EQ(width_of("größe"), 5U);
  EXPECT_EQ(shorten("größe", 5), "größe");
  EXPECT_EQ(shorten("größenwahn", 4), "grö…");
}

TEST(Shorten, NeverExceedsTheWidthWhateverTheName) {
  for (const char* name :
       {"((((", "))))", "<<<<>>", "a<b(c{d", "operator<<<<", "f(a>b)->c<d>", "::", "a::", "::a",
        "operator", "{lambda(int)#1}::operator()(int) const", "\xff\xfe\x80",
        "decltype(a->b) f<c>()", "<T as Trait>::method", "a<b<c<d<e<f<g>>>>>>::h(i)"}) {
    for (std::size_t width = 1; width < 40; ++width) {
      EXPECT_LE(width_of(shorten(name, width)), width) << name;
    }
    shorten(name, 0);
  }
}

TEST(Shorten, WhoHeldALockIsShortenedInsideTheBrackets) {
  const char* name = "[held by shop::Queue<shop::Order>::pop(int)]";
  EXPECT_EQ(shorten(name, 100), name);
  EXPECT_EQ(shorten(name, 36), "[held by shop::Queue<…>::pop(…)]");
  EXPECT_EQ(shorten(name, 20), "[held by …::pop(…)]");
  EXPECT_EQ(shorten("[held by [held by f]]", 30), "[held by [held by f]]");
}

TEST(Shorten, TakesLinearTimeOnHostileNames) {
  for (const char* part :
       {"a<", "<", "(", "a::", "operator<", "std::basic_", "{", "x,", "std::a<b, "}) {
    std::string name;
    while (name.size() < 64 * 1024) name += part;
    EXPECT_LE(width_of(shorten(name, 40)), 40U) << part;
    shorten(name, 0);
  }
  std::string nested;
  for (int i = 0; i < 10000; ++i) nested += "std::a<";
  nested += std::string(10000, '>');
  EXPECT_LE(width_of(shorten(nested, 40)), 40U);
}

}  // namespace
}  // namespace fbleprof::names
