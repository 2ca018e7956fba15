# The trace: its rings under real tasks, and its readers against hostile content.
set(_launcher ${CMAKE_SOURCE_DIR}/launcher)
set(_reader ${_launcher}/trace_rings.cpp ${_launcher}/trace_slices.cpp ${_launcher}/trace_json.cpp
  ${_launcher}/sealed_file.cpp ${_launcher}/text.cpp ${_launcher}/process.cpp
  ${CMAKE_SOURCE_DIR}/runtime/jvm/java_args.cpp ${CMAKE_SOURCE_DIR}/runtime/jvm/arg_tokens.cpp)
wisp_unit_test(wisp_trace_test SOURCES unit/trace_test.cpp ${_reader} LIBS wisp_observe)
wisp_unit_test(wisp_trace_reader_test
  SOURCES unit/trace_reader_test.cpp ${_reader} ${_launcher}/trace_file.cpp
    ${_launcher}/trace_report.cpp
    ${_launcher}/trace_phases.cpp ${_launcher}/report_text.cpp ${_launcher}/json_reader.cpp
  LIBS wisp_scheduler)
foreach(_test wisp_trace_test wisp_trace_reader_test)
  target_include_directories(${_test} PRIVATE ${_launcher})
  target_compile_definitions(${_test} PRIVATE FMT_HEADER_ONLY WISP_VERSION="${PROJECT_VERSION}")
endforeach()
wisp_unit_test(wisp_event_log_test SOURCES unit/event_log_test.cpp LIBS wisp_sync wisp_scheduler)
