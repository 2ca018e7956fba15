package wisp.flight;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import wisp.observe.Threads;

/**
 * Flight Recorder's side of the runtime's events. Part of libwisp.so, loaded when the JVM starts its recorder,
 * and called by one thread, the runtime's observer (runtime/jvm/observer.cpp). While no recording runs that wants
 * any of the events, the runtime logs nothing and this thread sleeps.
 */
final class Flight {
    /** How often events are fetched; the log holds some thousands. */
    private static final long TURN_MILLIS = 100;
    private static final long SETTINGS_MILLIS = 1000;
    private static final int BATCH = 512;

    /** As in runtime/scheduler/event_log.h and runtime/jvm/flight.cpp. */
    private static final int START = 0, END = 1, PARK = 2, STEAL = 3, HAND_OFF = 4, PREEMPT = 5;
    private static final int WORDS = 12;
    private static final int CARRIER_COLUMNS = 20;
    private static final String[] REASONS = {"unknown", "lock", "time", "readable", "writable", "unknown"};
    /** As WaitPlace in runtime/jvm/own_events.h. */
    private static final String[] PLACES = {"park", "sleep", "wait", "poll", "poll", "read", "accept", "monitor"};
    private static final int ELSEWHERE = PLACES.length;
    private static final String[] ENDS = {"woken", "timeout", "signal", "unknown"};

    private static volatile long settingsAt;
    private static int wanted;
    private static boolean stalls, recordsLives;
    private static long[] lastRun = new long[0];
    private static long lastAt;

    private Flight() {
    }

    static native int take(long[] into);

    static native long lost();

    /** Nanoseconds: waits and calls shorter than that are not logged; stallNanos 0: no stall is looked for. */
    static native boolean want(int kinds, long parkNanos, long handOffNanos, long stallNanos);

    static native long ticks();

    /** Learns from an event that has begun after {@code before} what the recorder's clock says. True: enough is known. */
    static native boolean anchor(Event begun, long before);

    /** Makes an event that is written later say when it happened. */
    static native void setTimes(Event event, long begin, long end);

    static native void kick();

    /**
     * From now on threads write their waits, with what is noted of them by then, and their starts and ends themselves, or
     * do not. False: they cannot in this JVM.
     */
    static native boolean ownEvents(boolean waits, boolean lives);

    static native long[] carriers();

    /**
     * The events are {@code @Registered(false)}, or Flight Recorder would have the initialisation of each class register it,
     * under whatever lock that happens: of a Java agent that retransforms the class under the one of JVMSupport (Utils
     * before JDK 21), which {@link FlightRecorder#register} asks for last.
     */
    static void start() {
        FlightRecorder.register(TaskStart.class);
        FlightRecorder.register(TaskEnd.class);
        FlightRecorder.register(Park.class);
        FlightRecorder.register(NativePark.class);
        FlightRecorder.register(Steal.class);
        FlightRecorder.register(HandOff.class);
        FlightRecorder.register(Preempt.class);
        FlightRecorder.register(Stall.class);
        FlightRecorder.register(CarrierStatistics.class);
        FlightRecorder.addPeriodicEvent(CarrierStatistics.class, Flight::carrierStatistics);
        FlightRecorder.addListener(new FlightListener());
    }

    static void settingsChanged() {
        settingsAt = 0;
        kick();
    }

    /** Fetches and writes what has happened. Returns the milliseconds until the next turn; 0: until told. */
    static long turn() {
        long now = System.nanoTime() / 1_000_000;
        boolean fresh = settingsAt == 0 || now - settingsAt >= SETTINGS_MILLIS;
        if (wanted != 0) {
            drain();
        }
        boolean recording = wanted != 0 || stalls || recordsLives;
        if (fresh) {
            settingsAt = now;
            recording = readSettings();
            Threads.keep(recording);
            if (recording) {
                Threads.look();
            }
        }
        return recording ? TURN_MILLIS : 0;
    }

    // ---- settings ----------------------------------------------------------------------------------

    private static boolean readSettings() {
        List<Recording> recordings = FlightRecorder.getFlightRecorder().getRecordings();
        int kinds = 0;
        int lives = Settings.smallest(recordings, TaskStart.class, true, 0) < Long.MAX_VALUE ? 1 << START : 0;
        lives |= Settings.smallest(recordings, TaskEnd.class, true, 0) < Long.MAX_VALUE ? 1 << END : 0;
        long own = Settings.smallest(recordings, Park.class, true, 20_000_000);
        long park = Math.min(own, Settings.smallest(recordings, NativePark.class, true, 20_000_000));
        kinds |= park < Long.MAX_VALUE ? 1 << PARK : 0;
        kinds |= Settings.smallest(recordings, Steal.class, false, 0) < Long.MAX_VALUE ? 1 << STEAL : 0;
        long handOff = Settings.smallest(recordings, HandOff.class, true, 20_000_000);
        kinds |= handOff < Long.MAX_VALUE ? 1 << HAND_OFF : 0;
        kinds |= Settings.smallest(recordings, Preempt.class, true, 0) < Long.MAX_VALUE ? 1 << PREEMPT : 0;
        long stall = Settings.smallest(recordings, Stall.class, true, 100_000_000);
        stalls = stall < Long.MAX_VALUE;
        // An event of which the thread cannot tell the time would be lost.
        boolean ownTime = (own < Long.MAX_VALUE || (kinds & ~(1 << PARK)) != 0) && readClock();
        if (!ownEvents(ownTime, lives != 0)) {
            kinds |= lives;
        }
        recordsLives = lives != 0;
        wanted = want(kinds, park, handOff, stalls ? Math.max(stall, 2_000_000) : 0) ? kinds : 0;
        return wanted != 0 || stalls || recordsLives;
    }

    // ---- events ------------------------------------------------------------------------------------

    private static void drain() {
        readClock();
        long[] words = new long[BATCH * WORDS];
        int count;
        do {
            count = take(words);
            lookForNewThreads(words, count);
            for (int i = 0; i < count; i++) {
                write(words, i * WORDS);
            }
        } while (count == BATCH);
    }

    private static boolean readClock() {
        for (int i = 0; i < 20; i++) {
            Park event = new Park();
            long before = ticks();
            event.begin();
            if (anchor(event, before)) {
                return true;
            }
            try {
                Thread.sleep(6);
            } catch (InterruptedException e) {
                return false;
            }
        }
        return false;
    }

    /** At most one look per batch, however many of its threads have ended. */
    private static void lookForNewThreads(long[] words, int count) {
        for (int i = 0; i < count; i++) {
            if (Threads.seen(words[i * WORDS + 4]) == null) {
                Threads.look();
                return;
            }
        }
    }

    private static void write(long[] w, int at) {
        TaskEvent event = make(w, at, ELSEWHERE);
        fill(event, w, at, Threads.seen(w[at + 4]));
        setTimes(event, w[at + 5], w[at + 6]);
        event.commit();
    }

    private static TaskEvent make(long[] w, int at, int place) {
        switch ((int) w[at] & 0xff) {
            case START:
                return new TaskStart();
            case END:
                return new TaskEnd();
            case PARK:
                WaitEvent park = place == ELSEWHERE ? new NativePark() : new Park();
                describe(park, w, at);
                if (place != ELSEWHERE) {
                    park.reason = PLACES[place];
                }
                return park;
            case STEAL:
                Steal steal = new Steal();
                steal.from = (int) w[at + 3];
                return steal;
            case HAND_OFF:
                return new HandOff();
            case PREEMPT:
                return new Preempt();
            default:
                throw new IllegalArgumentException("kind " + w[at]);
        }
    }

    private static void describe(WaitEvent park, long[] w, int at) {
        park.endedBy = ENDS[(int) (w[at] >> 8) & 3];
        park.reason = REASONS[Math.min((int) (w[at] >> 16) & 0xff, REASONS.length - 1)];
        park.waker = w[at + 3];
        park.queued = w[at + 7];
        park.address = w[at + 8];
        park.descriptor = (int) w[at + 9];
    }

    /** On the thread that the event is about; who calls commits it. */
    static Event own(long[] w, int place) {
        TaskEvent event = make(w, 0, place);
        int kind = (int) w[0] & 0xff;
        if (kind != START && kind != END) {
            setTimes(event, w[5], w[6]);
        }
        fill(event, w, 0, Thread.currentThread());
        return event;
    }

    private static void fill(TaskEvent event, long[] w, int at, Thread thread) {
        event.task = w[at + 1];
        event.carrier = (int) w[at + 2];
        event.javaId = w[at + 4];
        event.thread = thread;
        byte[] name = ByteBuffer.allocate(16).order(ByteOrder.nativeOrder()).putLong(w[at + 10]).putLong(w[at + 11])
                .array();
        int length = 0;
        while (length < name.length && name[length] != 0) {
            length++;
        }
        event.threadName = new String(name, 0, length, StandardCharsets.UTF_8);
    }

    /** Words as in {@link #write}, and behind them over, native, state, call and processor time. */
    static void stall(long[] w, String stack) {
        if (!stalls) {
            return;
        }
        Stall stall = new Stall();
        readClock();
        fill(stall, w, 0, Threads.seen(w[4]));
        stall.over = w[WORDS] != 0;
        stall.inNativeCode = w[WORDS + 1] != 0;
        stall.kernelState = w[WORDS + 2] == 0 ? "" : String.valueOf((char) w[WORDS + 2]);
        stall.systemCall = (int) w[WORDS + 3];
        stall.processorTime = w[WORDS + 4];
        stall.javaStack = stack;
        setTimes(stall, w[5], w[6]);
        stall.commit();
    }

    /**
     * On Flight Recorder's own periodic thread; with the period everyChunk on one that holds the recorder's lock. So that
     * is never asked for under ours.
     */
    private static void carrierStatistics() {
        List<Recording> recordings = FlightRecorder.getFlightRecorder().getRecordings();
        if (Settings.smallest(recordings, CarrierStatistics.class, true, 0) < Long.MAX_VALUE) {
            writeCarrierStatistics();
        }
    }

    private static synchronized void writeCarrierStatistics() {
        long[] rows = carriers();
        int count = rows.length / CARRIER_COLUMNS;
        long now = System.nanoTime();
        long lost = lost();
        long[] run = new long[count];
        for (int i = 0; i < count; i++) {
            int at = i * CARRIER_COLUMNS;
            CarrierStatistics event = new CarrierStatistics();
            event.carrier = i;
            event.running = rows[at] != 0;
            event.switches = rows[at + 1];
            event.idleTime = rows[at + 2];
            event.runTime = rows[at + 3];
            event.completed = rows[at + 4];
            event.started = rows[at + 5];
            event.parks = rows[at + 6];
            event.unparks = rows[at + 7];
            event.steals = rows[at + 8];
            event.failedSteals = rows[at + 9];
            event.preemptions = rows[at + 10];
            event.timeouts = rows[at + 11];
            event.polls = rows[at + 12];
            event.queueLength = rows[at + 13];
            event.tasks = rows[at + 14];
            event.queueTime = rows[at + 16];
            event.lostEvents = lost;
            run[i] = rows[at + 3];
            if (i < lastRun.length && now > lastAt) {
                // What a task had run when its carrier was taken from it counts no more: never below 0.
                event.busy = Math.max(0, Math.min(1, (float) (run[i] - lastRun[i]) / (now - lastAt)));
            } else {
                long all = rows[at + 2] + rows[at + 3];
                event.busy = all > 0 ? (float) rows[at + 3] / all : 0;
            }
            event.commit();
        }
        lastRun = run;
        lastAt = now;
    }
}
