package wisp.it.cases.libraries;

import io.github.kawamuray.wasmtime.Engine;
import io.github.kawamuray.wasmtime.Extern;
import io.github.kawamuray.wasmtime.Func;
import io.github.kawamuray.wasmtime.Instance;
import io.github.kawamuray.wasmtime.Module;
import io.github.kawamuray.wasmtime.Store;
import io.github.kawamuray.wasmtime.WasmFunctions;
import io.github.kawamuray.wasmtime.WasmValType;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * wasmtime, in Rust: its traps are signals that it takes from HotSpot's handler, it gives each thread a signal stack, and
 * leaves frames by longjmp; in between it calls Java, which waits.
 */
@WispCase(timeoutSeconds = 120)
public final class WasmTraps {
    private static final String PROGRAM = "(module"
            + " (import \"java\" \"wait\" (func $wait (param i32) (result i32)))"
            + " (memory 1)"
            + " (func (export \"sum\") (param i32) (result i32) (local i32)"
            + "  (loop $again"
            + "   (local.set 1 (i32.add (local.get 1) (call $wait (local.get 0))))"
            + "   (local.set 0 (i32.sub (local.get 0) (i32.const 1)))"
            + "   (br_if $again (local.get 0)))"
            + "  (local.get 1))"
            + " (func (export \"divide\") (param i32) (result i32)"
            + "  (i32.div_s (i32.const 100) (call $wait (local.get 0))))"
            + " (func (export \"outside\") (param i32) (result i32) (i32.load (call $wait (local.get 0))))"
            + " (func (export \"unreachable\") (param i32) (result i32) (drop (call $wait (local.get 0))) unreachable)"
            + " (func $deep (export \"deep\") (param i32) (result i32)"
            + "  (i32.add (i32.const 1) (call $deep (i32.add (local.get 0) (i32.const 1))))))";
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Object MONITOR = new Object();

    public static void main(String[] args) throws Exception {
        try (Engine engine = new Engine(); Module module = new Module(engine, PROGRAM.getBytes(StandardCharsets.US_ASCII))) {
            Kit.together(24, "caller", () -> {
                for (int i = 0; i < 6; i++) {
                    calls(engine, module);
                }
            });
        }
        Kit.say("summed and trapped");
    }

    private static void calls(Engine engine, Module module) {
        int[] turns = {0};
        try (Store<Void> store = new Store<>(null, engine)) {
            Func waits = WasmFunctions.wrap(store, WasmValType.I32, WasmValType.I32, (Integer x) -> waits(x, turns[0]++));
            Instance instance = new Instance(store, module, Collections.singletonList(Extern.fromFunc(waits)));
            Kit.check("the sum", call(store, instance, "sum", 20) == 210);
            traps(store, instance, "divide", 0, "INTEGER_DIVISION_BY_ZERO");
            traps(store, instance, "outside", Integer.MAX_VALUE, "MEMORY_OUT_OF_BOUNDS");
            traps(store, instance, "unreachable", 3, "UNREACHABLE_CODE_REACHED");
            traps(store, instance, "deep", 0, "STACK_OVERFLOW");
            traps(store, instance, "divide", -777, "error while executing");
            Kit.check("HotSpot has its signals", Kit.thrown(() -> Arrays.hashCode(new int[-turns[0]]))
                    .equals("java.lang.NegativeArraySizeException") && Kit.thrown(() -> nothing().hashCode())
                    .equals("java.lang.NullPointerException"));
            Kit.check("the sum afterwards", call(store, instance, "sum", 5) == 15);
        }
    }

    private static Object nothing() {
        return null;
    }

    private static int waits(int x, int turn) {
        try {
            switch (turn % 4) {
                case 0:
                    Thread.sleep(1);
                    break;
                case 1:
                    LOCK.lock();
                    Thread.yield();
                    LOCK.unlock();
                    break;
                case 2:
                    synchronized (MONITOR) {
                        MONITOR.wait(1);
                    }
                    break;
                default:
                    LockSupport.parkNanos(100_000);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        if (x == -777) {
            throw new IllegalStateException("the host's own");
        }
        return x;
    }

    private static int call(Store<Void> store, Instance instance, String name, int argument) {
        Func function = instance.getFunc(store, name).get();
        return WasmFunctions.func(store, function, WasmValType.I32, WasmValType.I32).call(argument);
    }

    private static void traps(Store<Void> store, Instance instance, String name, int argument, String how) {
        try {
            call(store, instance, name, argument);
        } catch (RuntimeException e) {
            Kit.check(name + ": " + e, e.getMessage().contains(how));
            return;
        }
        Kit.check(name + " traps", false);
    }
}
