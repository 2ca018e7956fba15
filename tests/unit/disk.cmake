wisp_unit_test(wisp_disk_test
  SOURCES unit/disk_read_test.cpp unit/disk_wait_test.cpp unit/disk_ring_test.cpp
  LIBS wisp_io)
wisp_carriers_test(wisp_disk_test)
