# The trace: its rings under real tasks, and its readers against hostile content.
wisp_unit_test(wisp_trace_test SOURCES unit/trace_test.cpp LIBS wisp_readers wisp_observe)
wisp_unit_test(wisp_trace_reader_test SOURCES unit/trace_reader_test.cpp unit/trace_pools_test.cpp
  LIBS wisp_readers wisp_scheduler ONE_THREAD)
wisp_unit_test(wisp_event_log_test SOURCES unit/event_log_test.cpp LIBS wisp_sync wisp_scheduler)
