package wisp.it.cases.rules;

import wisp.it.WispCase;

/** Without a rule main is a task like the others. */
@WispCase(requires = "module:jdk.management", carriers = 1, smoke = true)
public final class MainConverted {
    public static void main(String[] args) throws Exception {
        Probe.reportMain(true);
    }
}
