package wisp.it.cases.io;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Reading standard input in a task: here it is at its end. */
@WispCase
public final class StandardInput {
    public static void main(String[] args) throws Exception {
        Thread reader = Kit.start("reader", () -> say("read %d", System.in.read()));
        Kit.join(reader);
    }
}
