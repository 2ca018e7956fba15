# The statistics page: its reader against torn and hostile content; the commands against real JVMs, and
# against one that is late.
wisp_unit_test(wisp_observe_reader_test
  SOURCES unit/observe_reader_test.cpp unit/observe_page_test.cpp unit/thread_dump_test.cpp
  LIBS wisp_readers wisp_observe ONE_THREAD)
wisp_unit_test(wisp_attach_test SOURCES unit/attach_test.cpp LIBS wisp_readers ONE_THREAD)

if(TARGET wisp AND TARGET libwisp AND WISP_JAVAC AND TARGET launcher_test_tree)
  set(_workload ${CMAKE_CURRENT_LIST_DIR}/ObserveWorkload.java
    ${CMAKE_CURRENT_LIST_DIR}/FlightWorkload.java)
  set(_classes ${CMAKE_BINARY_DIR}/observe-test)
  add_custom_command(OUTPUT ${_classes}/ObserveWorkload.class ${_classes}/FlightWorkload.class
    COMMAND ${WISP_JAVAC} --release 8 -Xlint:-options -d ${_classes} ${_workload}
    DEPENDS ${_workload})
  set(_recording ${CMAKE_CURRENT_LIST_DIR}/RecordWorkload.java ${CMAKE_CURRENT_LIST_DIR}/EarlyEvents.java)
  add_custom_command(OUTPUT ${_classes}/RecordWorkload.class ${_classes}/EarlyEvents.class
    COMMAND ${WISP_JAVAC} --release 11 -Xlint:-options -d ${_classes} ${_recording}
    DEPENDS ${_recording})
  add_custom_target(observe_test_classes ALL
    DEPENDS ${_classes}/ObserveWorkload.class ${_classes}/RecordWorkload.class ${_classes}/EarlyEvents.class)
  set(_more_of_observe unit/observe_trace_test.cpp unit/observe_top_test.cpp)
  set(_more_of_flight unit/flight_stall_test.cpp)
  foreach(_name observe flight)
    wisp_unit_test(wisp_${_name}_test SOURCES unit/${_name}_test.cpp ${_more_of_${_name}} launcher/spawn.cpp
      LIBS wisp_options_for_tests)
    target_compile_definitions(wisp_${_name}_test PRIVATE WISP_TREE="${CMAKE_BINARY_DIR}"
      WISP_SOURCE="${CMAKE_SOURCE_DIR}" OBSERVE_CLASSES="${_classes}")
    add_dependencies(wisp_${_name}_test observe_test_classes wisp libwisp)
  endforeach()
endif()
