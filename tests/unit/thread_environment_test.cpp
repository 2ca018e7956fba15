// What the constructor takes out of the environment, and what an exec of itself gets back.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <set>
#include <string>

#include "jvm/environment.h"

namespace {

std::set<std::string> as_set(char* const* envp) {
  std::set<std::string> all;
  for (; *envp != nullptr; ++envp) all.insert(*envp);
  return all;
}

// One test: what is taken out is remembered for the life of the process.
TEST(Environment, TakesOutWhatIsOursAndPutsItBack) {
  // Strings on which the library may work in place, as on the initial environment.
  static char preload[] =
      "LD_PRELOAD=/a/libfirst.so:/opt/wisp/lib/libwisp.so /b/libmylibwisp.so libwisp.so";
  static char wisp[] = "WISP=1", options[] = "WISP_OPTIONS=carriers=2";
  static char other[] = "WISPY=stays", path[] = "PATH=/bin";
  static char* envp[] = {wisp, path, preload, options, other, nullptr};
  environ = envp;
  wisp::environment_take_out();
  EXPECT_EQ(as_set(environ),
            (std::set<std::string>{"PATH=/bin", "LD_PRELOAD=/a/libfirst.so:/b/libmylibwisp.so",
                                   "WISPY=stays"}));
  // Who walks along the array from where the arguments end comes to the same end: the kernel's
  // auxiliary vector stands behind it.
  for (char** at = envp; at != envp + 5; ++at) EXPECT_NE(*at, nullptr);
  EXPECT_EQ(environ + as_set(environ).size(), envp + 5);

  static char added[] = "LD_LIBRARY_PATH=/jre/lib";
  char* next[] = {path, preload, added, other, nullptr};
  char** complete = wisp::environment_put_back(next);
  ASSERT_NE(complete, nullptr);
  EXPECT_EQ(
      as_set(complete),
      (std::set<std::string>{
          "PATH=/bin", "LD_LIBRARY_PATH=/jre/lib", "WISPY=stays", "WISP=1",
          "WISP_OPTIONS=carriers=2",
          "LD_PRELOAD=/a/libfirst.so:/opt/wisp/lib/libwisp.so /b/libmylibwisp.so libwisp.so"}));
  free(complete);

  static char* only_ours[] = {wisp, options, nullptr};
  environ = only_ours;
  wisp::environment_take_out();
  EXPECT_EQ(environ, only_ours + 2);
  EXPECT_EQ(*environ, nullptr);
  for (char** at = only_ours; at != environ; ++at) EXPECT_STREQ(*at, "");
}

}  // namespace
