package wisp.it.cases.tools;

import wisp.it.WispCase;

/** jcmd Thread.print does the same through its own door. */
@WispCase(requires = "bin/jcmd", smoke = true)
public final class JcmdThreads {
    public static void main(String[] args) throws Exception {
        DumpedThreads.listedBy("jcmd", "Thread.print");
    }
}
