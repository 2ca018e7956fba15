# Tests of the command and of the options that it shares with the library.
include(${CMAKE_SOURCE_DIR}/runtime/jvm/options.cmake)
add_library(wisp_options_for_tests STATIC ${WISP_OPTION_SOURCES})
wisp_runtime_library(wisp_options_for_tests)
set(_more_of_options_fuzz unit/options_garbage_test.cpp)
foreach(name rules arg_tokens options options_fuzz processors)
  wisp_unit_test(${name}_test SOURCES unit/${name}_test.cpp ${_more_of_${name}}
    LIBS wisp_options_for_tests ONE_THREAD)
endforeach()

# What `wisp java` hands on, against what it was given.
wisp_unit_test(rewrite_test SOURCES unit/rewrite_test.cpp
  LIBS wisp_readers ONE_THREAD)

# The command's behaviour, with a stub in the place of libwisp.so: build/launcher-test is an install
# tree of its own (bin/wisp, lib/libwisp.so).
if(TARGET wisp)
  find_program(WISP_JAVAC javac HINTS $ENV{JAVA_HOME}/bin /usr/lib/jvm/java-17-openjdk-amd64/bin)
endif()
if(TARGET wisp AND WISP_JAVAC)
  set(tree ${CMAKE_BINARY_DIR}/launcher-test)
  add_library(wisp_stub MODULE launcher/stub.cpp ${WISP_AGENT_SOURCES})
  wisp_runtime_library(wisp_stub)
  target_link_libraries(wisp_stub PRIVATE wisp_options_for_tests ${CMAKE_DL_LIBS})
  set_target_properties(wisp_stub PROPERTIES OUTPUT_NAME wisp PREFIX lib
    LIBRARY_OUTPUT_DIRECTORY ${tree}/lib)
  add_custom_command(OUTPUT ${tree}/bin/wisp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${tree}/bin
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:wisp> ${tree}/bin/wisp
    DEPENDS wisp)
  set(probe ${CMAKE_CURRENT_SOURCE_DIR}/launcher/Probe.java)
  add_custom_command(OUTPUT ${tree}/classes/Probe.class
    COMMAND ${WISP_JAVAC} --release 8 -Xlint:-options -d ${tree}/classes ${probe}
    DEPENDS ${probe})
  add_custom_target(launcher_test_tree ALL DEPENDS ${tree}/bin/wisp ${tree}/classes/Probe.class)
  foreach(name java jdk_home doctor agent command argfile option_files)
    wisp_unit_test(launcher_${name}_test SOURCES launcher/${name}_test.cpp launcher/spawn.cpp
      LIBS wisp_options_for_tests)
    target_compile_definitions(launcher_${name}_test PRIVATE
      WISP_TREE="${tree}" WISP_SOURCE="${CMAKE_SOURCE_DIR}")
    add_dependencies(launcher_${name}_test launcher_test_tree wisp_stub)
  endforeach()
endif()
