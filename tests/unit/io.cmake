wisp_unit_test(wisp_io_test
  SOURCES unit/io_transfer_test.cpp unit/io_wait_test.cpp unit/io_life_test.cpp unit/io_connect_test.cpp
  unit/io_pump_test.cpp unit/io_registration_test.cpp unit/io_release_test.cpp unit/io_wake_test.cpp
  unit/io_send_file_test.cpp unit/io_child_test.cpp unit/io_attendance_test.cpp unit/io_epoll_test.cpp
  unit/io_epoll_look_test.cpp unit/io_lone_test.cpp unit/io_member_parts_test.cpp unit/io_parts_test.cpp unit/io_partners_test.cpp unit/io_partner_wake_test.cpp unit/io_retire_test.cpp
  LIBS wisp_io wisp_signal wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_io_test)

# On its own: in this process SysMonitor can sleep.
wisp_unit_test(wisp_overlooked_test
  SOURCES unit/overlooked_test.cpp unit/work_conserving_test.cpp
  LIBS wisp_io wisp_signal wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_overlooked_test)

wisp_unit_test(wisp_timer_slack_test
  SOURCES unit/timer_slack_test.cpp
  LIBS wisp_io wisp_signal wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_timer_slack_test)

# On its own: its event pump is not the io layer's.
wisp_unit_test(wisp_watched_pump_test
  SOURCES unit/watched_pump_test.cpp
  LIBS wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_watched_pump_test)
wisp_unit_test(wisp_pump_parts_test
  SOURCES unit/pump_parts_test.cpp
  LIBS wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_pump_parts_test)
