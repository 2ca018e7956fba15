package com.alibaba.management;

/** What one task does at the moment. */
public final class WispTaskData {
    private static final String[] STATES = {"CREATED", "READY", "RUNNING", "PARKED", "DEAD"};
    private static final String[] WAITS = {"NOTHING", "LOCK", "TIME", "READABLE", "WRITABLE", "NATIVE"};

    private static final int READY = 1;
    private static final int PARKED = 3;

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

    /** The bytes of so many columns up to the first 0. */
    private String text(int column, int columns) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < columns * 8; i++) {
            char c = (char) (value(column + i / 8) >>> (8 * (i % 8)) & 0xff);
            if (c == 0) {
                break;
            }
            text.append(c < 0x7f ? c : '?');
        }
        return text.toString();
    }

    /** At most 15 bytes, as pthread_setname_np got it. */
    public String getName() {
        return text(2, 2);
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

    /** Time it waited in queues, ready; from a sample of one wake in sixteen. */
    public long getQueueTime() {
        return value(17);
    }

    /** Of its thread; 0: unknown. */
    public long getJavaThreadId() {
        return value(18);
    }

    /** Nanoseconds until its timed wait runs out; -1: it is not timed. */
    public long getTimeLeft() {
        return value(19);
    }

    /** As Dragonwell counts: -1 it waits, 1 it has been woken and has not run yet, 0 neither. */
    public int getParkState() {
        if (value(4) == PARKED) {
            return -1;
        }
        return value(4) == READY && getActiveCount() != 0 ? 1 : 0;
    }

    /** Who is at the other end of the socket it waits for; null: it waits for none, or for one without. */
    public String getWaitPeer() {
        return value(20) == 1 ? text(21, 6) : null;
    }

    /** The own address of the socket it waits for, if that has no other end: it listens. Null as above. */
    public String getWaitOwnAddress() {
        return value(20) == 2 ? text(21, 6) : null;
    }
}
