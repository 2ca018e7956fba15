// By this function a JDK's libjsig.so is known.
void JVM_begin_signal_setting(void);
void JVM_begin_signal_setting(void) {}
