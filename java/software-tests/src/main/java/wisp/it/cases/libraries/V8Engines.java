package wisp.it.cases.libraries;

import com.caoccao.javet.annotations.V8Function;
import com.caoccao.javet.exceptions.JavetException;
import com.caoccao.javet.exceptions.JavetTerminatedException;
import com.caoccao.javet.interop.V8Host;
import com.caoccao.javet.interop.V8Runtime;
import com.caoccao.javet.values.reference.V8ValueObject;
import java.util.concurrent.LinkedBlockingQueue;
import wisp.it.Kit;
import wisp.it.WispCase;

/** V8 by Javet: engines that go from thread to thread, scripts that call Java, which waits, recurse too deep, or are ended. */
@WispCase(timeoutSeconds = 120)
public final class V8Engines {
    private static final String SCRIPT = "(function () {"
            + " let sum = 0; for (let i = 0; i < 12; i++) sum += host.waits(i);"
            + " let kept = []; for (let i = 0; i < 20000; i++) kept.push({number: i, text: 'x' + i});"
            + " function deep() { deep(); }"
            + " try { deep(); } catch (e) { return (e instanceof RangeError) + ' ' + sum + ' ' + kept.filter(k => k.number % 4 == 0).length; }"
            + "})()";

    /** Seen by scripts. */
    public static final class Host {
        @V8Function
        public int waits(int x) throws InterruptedException {
            if (x % 3 == 0) {
                Thread.sleep(1);
            } else if (x % 3 == 1) {
                Thread.yield();
            } else {
                synchronized (Host.class) {
                    Host.class.wait(1);
                }
            }
            if (x == 99) {
                throw new IllegalStateException("the host's own");
            }
            return x;
        }
    }

    public static void main(String[] args) throws Exception {
        LinkedBlockingQueue<V8Runtime> engines = new LinkedBlockingQueue<>();
        for (int i = 0; i < 4; i++) {
            engines.add(V8Host.getV8Instance().createV8Runtime());
        }
        Kit.together(20, "caller", () -> {
            for (int i = 0; i < 4; i++) {
                V8Runtime engine = engines.take();
                calls(engine);
                engines.add(engine);
            }
            try (V8Runtime own = V8Host.getV8Instance().createV8Runtime()) {
                calls(own);
            }
        });
        for (V8Runtime engine : engines) {
            ended(engine);
            engine.close();
        }
        Kit.say("called and ended");
    }

    private static void calls(V8Runtime engine) throws JavetException {
        Host host = new Host();
        try (V8ValueObject object = engine.createV8ValueObject()) {
            engine.getGlobalObject().set("host", object);
            object.bind(host);
            String got = engine.getExecutor(SCRIPT).executeString();
            Kit.check("not " + got, "true 66 5000".equals(got));
            Kit.check("Java's exception comes through", Kit.thrown(() -> engine.getExecutor("host.waits(99)").executeVoid())
                    .startsWith("com.caoccao.javet"));
            engine.getGlobalObject().delete("host");
            object.unbind(host);
        }
        engine.lowMemoryNotification();
    }

    private static void ended(V8Runtime engine) throws Exception {
        Thread ender = Kit.start("ender", () -> {
            Thread.sleep(30);
            engine.terminateExecution();
        });
        String thrown = Kit.thrown(() -> engine.getExecutor("for (;;);").executeVoid());
        Kit.check("not " + thrown, JavetTerminatedException.class.getName().equals(thrown));
        Kit.join(ender);
    }
}
