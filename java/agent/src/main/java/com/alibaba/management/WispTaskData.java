package com.alibaba.management;

/** What one task does at the moment. */
public final class WispTaskData {
    private static final String[] STATES = {"CREATED", "READY", "RUNNING", "PARKED", "DEAD"};
    private static final String[] WAITS = {"NOTHING", "LOCK", "TIME", "READABLE", "WRITABLE", "NATIVE"};

    private final long[] values;
    private final int first;

    public WispTaskData(long[] values, int first) {
        this.values = values;
        this.first = first;
    }

    private long value(int column) {
        return values[first + column];
    }

    private static String word(String[] words, long index) {
        return index >= 0 && index < words.length ? words[(int) index] : "UNKNOWN";
    }

    public long getId() {
        return value(0);
    }

    /** The {@code nid} of thread dumps. */
    public long getNativeId() {
        return value(1);
    }

    /** At most 15 bytes, as pthread_setname_np got it. */
    public String getName() {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < 16; i++) {
            char c = (char) (value(2 + i / 8) >>> (8 * (i % 8)) & 0xff);
            if (c == 0) {
                break;
            }
            name.append(c < 0x7f ? c : '?');
        }
        return name.toString();
    }

    public String getState() {
        return word(STATES, value(4));
    }

    public String getWaitFor() {
        return word(WAITS, value(5));
    }

    /** The carrier it runs on or ran on last; -1: none. */
    public long getCarrier() {
        return value(6);
    }

    /** True while it runs on its kernel thread without a carrier. */
    public boolean isHandedOff() {
        return value(7) != 0;
    }

    /** The descriptor it waits for; -1: none. */
    public long getWaitDescriptor() {
        return value(8);
    }

    public long getWaitAddress() {
        return value(9);
    }

    public long getTimeInState() {
        return value(10);
    }

    public long getCpuTime() {
        return value(11);
    }

    public long getActiveCount() {
        return value(12);
    }

    public long getStealCount() {
        return value(13);
    }

    public long getStealFailureCount() {
        return value(14);
    }

    public long getPreemptCount() {
        return value(15);
    }

    public long getHandOffCount() {
        return value(16);
    }
}
