package wisp.it.cases.libraries;

import com.sun.jna.Callback;
import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import wisp.it.Kit;
import wisp.it.WispCase;

/** JNA on libc: Java called from native code waits, threads that native code starts call Java, and libc's own locks. */
@WispCase(timeoutSeconds = 90)
public final class JnaCallbacks {
    /** For qsort. */
    public interface Comparison extends Callback {
        int compare(Pointer a, Pointer b);
    }

    /** For pthread_create. */
    public interface Start extends Callback {
        Pointer run(Pointer argument);
    }

    /** By their names there. */
    public interface LibC extends Library {
        void qsort(int[] all, NativeLong count, NativeLong size, Comparison comparison);

        int pthread_create(PointerByReference thread, Pointer attributes, Start start, Pointer argument);

        int pthread_join(Pointer thread, PointerByReference result);

        int pthread_mutex_lock(Pointer mutex);

        int pthread_mutex_unlock(Pointer mutex);

        int sem_init(Pointer semaphore, int shared, int value);

        int sem_wait(Pointer semaphore);

        int sem_post(Pointer semaphore);

        int usleep(int micros);

        int close(int descriptor);
    }

    private static final LibC LIBC = Native.load("c", LibC.class);
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Memory MUTEX = new Memory(64);
    private static final Memory SEMAPHORE = new Memory(64);
    private static int inside;

    public static void main(String[] args) throws Exception {
        MUTEX.clear();
        LIBC.sem_init(SEMAPHORE, 0, 3);
        AtomicInteger numbers = new AtomicInteger();
        Kit.together(24, "caller", () -> {
            int number = numbers.getAndIncrement();
            for (int i = 0; i < 10; i++) {
                sorted(new Random(number * 100 + i));
                started(number * 100 + i);
                locked();
                LIBC.close(-1);
                int error = Native.getLastError();
                Kit.check("EBADF, not " + error, error == 9);
            }
        });
        Kit.say("sorted, started, locked");
    }

    private static void sorted(Random random) {
        int[] all = random.ints(60).toArray();
        int[] expected = all.clone();
        Arrays.sort(expected);
        int[] count = {0};
        LIBC.qsort(all, new NativeLong(all.length), new NativeLong(4), (a, b) -> {
            if (count[0]++ % 20 == 0) {
                LOCK.lock();
                try {
                    Thread.yield();
                } finally {
                    LOCK.unlock();
                }
            }
            return Integer.compare(a.getInt(0), b.getInt(0));
        });
        Kit.check("it is sorted", Arrays.equals(all, expected));
    }

    private static void started(int value) {
        PointerByReference thread = new PointerByReference();
        PointerByReference result = new PointerByReference();
        Start start = argument -> {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return null;
            }
            return Pointer.createConstant(Pointer.nativeValue(argument) + 1);
        };
        Kit.check("it starts", LIBC.pthread_create(thread, null, start, Pointer.createConstant(value)) == 0);
        Kit.check("it ends", LIBC.pthread_join(thread.getValue(), result) == 0);
        Kit.check("with its result", Pointer.nativeValue(result.getValue()) == value + 1);
    }

    private static void locked() {
        LIBC.sem_wait(SEMAPHORE);
        LIBC.pthread_mutex_lock(MUTEX);
        Kit.check("one at a time", inside++ == 0);
        LIBC.usleep(50);
        inside--;
        LIBC.pthread_mutex_unlock(MUTEX);
        LIBC.sem_post(SEMAPHORE);
    }
}
