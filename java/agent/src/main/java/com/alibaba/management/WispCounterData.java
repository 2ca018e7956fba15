package com.alibaba.management;

/** The counters of one carrier; see {@link WispCounterMXBean}. */
public final class WispCounterData {
    private final long[] values;
    private final int first;

    /** Of the row of {@code values} that begins at {@code first}. */
    public WispCounterData(long[] values, int first) {
        this.values = values;
        this.first = first;
    }

    private long value(int column) {
        return values[first + column];
    }

    public long getSwitchCount() {
        return value(1);
    }

    public long getCompletedTaskCount() {
        return value(4);
    }

    public long getCreateTaskCount() {
        return value(5);
    }

    public long getParkCount() {
        return value(6);
    }

    public long getUnparkCount() {
        return value(7);
    }

    public long getTaskQueueLength() {
        return value(13);
    }

    public long getRunningTaskCount() {
        return value(14);
    }

    public long getTotalBlockingTime() {
        return value(15);
    }

    public long getTotalExecutionTime() {
        return value(3);
    }

    public long getExecutionCount() {
        return value(1);
    }

    public long getTotalEnqueueTime() {
        return value(16);
    }

    public long getEnqueueCount() {
        return value(17);
    }

    public long getTotalWaitSocketIOTime() {
        return value(18);
    }

    public long getWaitSocketIOCount() {
        return value(19);
    }
}
