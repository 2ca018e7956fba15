package wisp.it.cases.tools;

import wisp.it.WispCase;

/** jstack attaches to the process and sees every thread and its state. */
@WispCase(requires = "bin/jstack")
public final class Jstack {
    public static void main(String[] args) throws Exception {
        DumpedThreads.listedBy("jstack");
    }
}
