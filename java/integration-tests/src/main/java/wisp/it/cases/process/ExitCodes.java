package wisp.it.cases.process;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Children end with their own exit codes, from many tasks at once, output complete. */
@WispCase(smoke = true)
public final class ExitCodes {
    public static void main(String[] args) throws Exception {
        AtomicInteger numbers = new AtomicInteger();
        AtomicIntegerArray codes = new AtomicIntegerArray(10);
        Kit.together(codes.length(), "starter", () -> {
            int code = numbers.getAndIncrement();
            Process process = new ProcessBuilder("sh", "-c", "read line; echo got $line; exit " + code).start();
            process.getOutputStream().write(("number " + code + "\n").getBytes("US-ASCII"));
            process.getOutputStream().close();
            BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()));
            check("output", ("got number " + code).equals(reader.readLine()));
            codes.set(code, process.waitFor());
        });
        say("%s", codes);
        Process killed = new ProcessBuilder("sleep", "600").start();
        say("timed wait %s", killed.waitFor(30, TimeUnit.MILLISECONDS));
        Kit.sayThrown("exitValue", killed::exitValue);
        killed.destroyForcibly();
        say("killed: %d", killed.waitFor());
        Kit.sayThrown("no such program", () -> new ProcessBuilder("/no/such/program").start());
    }
}
