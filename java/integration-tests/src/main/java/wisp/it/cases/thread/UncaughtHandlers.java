package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import wisp.it.WispCase;

/** Which handler hears of an uncaught exception. */
@WispCase(smoke = true)
public final class UncaughtHandlers {
    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> say("default: %s in %s", e.getMessage(), thread.getName()));
        run(new Thread(UncaughtHandlers::fail, "plain"));
        Thread own = new Thread(UncaughtHandlers::fail, "with handler");
        own.setUncaughtExceptionHandler((thread, e) -> {
            say("own: %s, current %s", thread.getName(), Thread.currentThread() == thread);
            throw new IllegalStateException("ignored");
        });
        run(own);
        ThreadGroup group = new ThreadGroup("group") {
            @Override
            public void uncaughtException(Thread thread, Throwable e) {
                say("group: %s", e.getMessage());
                super.uncaughtException(thread, e);
            }
        };
        run(new Thread(group, UncaughtHandlers::fail, "in group"));
        run(new Thread(() -> {
            throw new OutOfMemoryError("made up");
        }, "error"));
    }

    private static void run(Thread thread) throws InterruptedException {
        thread.start();
        thread.join();
    }

    private static void fail() {
        throw new IllegalArgumentException("thrown in " + Thread.currentThread().getName());
    }
}
