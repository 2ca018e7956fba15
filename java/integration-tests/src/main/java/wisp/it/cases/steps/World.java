package wisp.it.cases.steps;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * A few objects, and what workers may do with them. Drawn only while all workers are idle or wait, so that what is
 * drawn depends on the seed alone. Where the system has a choice (whom a notify wakes), a world draws nothing.
 */
abstract class World {
    static final int SHORT = Steps.SHORT;
    static final long LONG = 3_600_000;

    /** 8 for 1.8. */
    static final int JDK = Integer.parseInt(System.getProperty("java.specification.version").replaceFirst("^1\\.", ""));

    final Random random;
    Worker[] workers;
    private final List<String> events = new ArrayList<>();

    World(Random random) {
        this.random = random;
    }

    /** For this idle worker; null if what was drawn does not fit, then it is asked again. */
    abstract Action draw(Worker worker) throws Exception;

    /** What happens elsewhere has come to rest. */
    boolean isQuiet() {
        return true;
    }

    /** Where a thread waits may change while it waits. */
    boolean staysInPlace() {
        return true;
    }

    /** What the idle worker holds it lets go; null: nothing. */
    Action release(Worker worker) {
        return null;
    }

    /** At the end, one after the other. */
    List<Action> ends() {
        return Collections.emptyList();
    }

    /** Of threads that are no workers. Told at the end of the step, in alphabetical order. */
    final void event(String text) {
        synchronized (events) {
            events.add(text);
        }
    }

    final List<String> takeEvents() {
        synchronized (events) {
            List<String> taken = new ArrayList<>(events);
            events.clear();
            Collections.sort(taken);
            return taken;
        }
    }

    final boolean one(int of) {
        return random.nextInt(of) == 0;
    }

    @SafeVarargs
    final <T> T any(T... things) {
        return things[random.nextInt(things.length)];
    }

    final Worker busyOne(Worker except) {
        Worker worker = any(workers);
        return worker == except || worker.isIdle() ? null : worker;
    }

    /** Busy with an action about this. */
    final int busyWith(Object subject) {
        int count = 0;
        for (Worker worker : workers) {
            Action action = worker.given();
            count += action != null && subject.equals(action.subject) ? 1 : 0;
        }
        return count;
    }

    final Action interruptAny(Worker except) {
        Worker whom = busyOne(except);
        return whom == null ? null : interrupt(whom);
    }

    static Action interrupt(Worker whom) {
        return Action.quick("interrupt " + whom.getName(), of(whom::interrupt));
    }

    static Action.Op of(Steps.Body body) {
        return () -> {
            body.run();
            return "";
        };
    }

    static long millis(boolean brief) {
        return brief ? SHORT : LONG;
    }

    static TimeUnit unit() {
        return TimeUnit.MILLISECONDS;
    }

    /** Timed ones that are brief end by themselves. */
    static Action.Kind kind(boolean brief) {
        return brief ? Action.Kind.TIMED : Action.Kind.WAITS;
    }
}
