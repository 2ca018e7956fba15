// `wisp jdk DIR`: a JAVA_HOME that looks like the JDK in DIR and whose bin/java is this command.
#pragma once

#include <string>

namespace wisp {

struct JdkHomeRequest {
  std::string source;
  std::string output;  // empty: ./<name>-wisp
};

// Prints the home's path on stdout, so that JAVA_HOME=$(wisp jdk DIR) works. Returns the exit code.
int make_jdk_home(const JdkHomeRequest& request);

}  // namespace wisp
