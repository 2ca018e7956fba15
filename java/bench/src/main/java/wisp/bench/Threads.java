package wisp.bench;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Makes threads of the kind asked for. Virtual ones by reflection: this code compiles for Java 8. */
final class Threads {
    static final String PLATFORM = "threads";
    static final String VIRTUAL = "virtual";

    private Threads() {
    }

    static ExecutorService cachedPool(String kind) {
        return kind.equals(VIRTUAL)
                ? (ExecutorService) call(Executors.class, null, "newVirtualThreadPerTaskExecutor")
                : Executors.newCachedThreadPool();
    }

    static Thread unstarted(String kind, Runnable body) {
        if (kind.equals(PLATFORM)) {
            return new Thread(body);
        }
        try {
            Object builder = call(Thread.class, null, "ofVirtual");
            return (Thread) Class.forName("java.lang.Thread$Builder")
                    .getMethod("unstarted", Runnable.class).invoke(builder, body);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static void runAll(String kind, Runnable... bodies) throws InterruptedException {
        Thread[] threads = new Thread[bodies.length];
        for (int i = 0; i < bodies.length; i++) {
            threads[i] = unstarted(kind, bodies[i]);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static Object call(Class<?> owner, Object receiver, String method) {
        try {
            return owner.getMethod(method).invoke(receiver);
        } catch (NoSuchMethodException e) {
            System.err.println("virtual threads need JDK 21 or newer; this is " + System.getProperty("java.version"));
            System.exit(2);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(e);
        }
        throw new AssertionError();
    }
}
