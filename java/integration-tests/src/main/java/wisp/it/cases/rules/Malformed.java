package wisp.it.cases.rules;

import wisp.it.WispCase;

/** A malformed entry is named on standard error, the others hold. */
@WispCase(requires = "module:jdk.management", wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=nonsense:abc;name:black-*", wispStderr = "nonsense:abc")
public final class Malformed {
    public static void main(String[] args) throws Exception {
        Probe.run(Probe.named("black-1", false));
        Probe.run(Probe.named("other", true));
    }
}
