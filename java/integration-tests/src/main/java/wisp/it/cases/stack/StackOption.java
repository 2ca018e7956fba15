package wisp.it.cases.stack;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Wisp's option for the size of stacks stands for the JVM's own default; a constructor that asks for more than
 * that gets more. On plain threads the sizes compared are the JVM's.
 */
@WispCase(flags = "-Xint", wispFlags = "-Dcom.alibaba.wisp.stacksize=8m")
public final class StackOption {
    public static void main(String[] args) throws Exception {
        long usual = Kit.underWisp() ? 8 << 20 : ofJvm();
        int unasked = Depths.of(0);
        int same = Depths.of(usual);
        int twice = Depths.of(2 * usual);
        int small = Depths.of(256 << 10);
        check("as deep as the option says: " + unasked + ", " + same, unasked > same * 0.8 && unasked < same * 1.25);
        check("twice as deep: " + unasked + ", " + twice, twice > unasked * 1.5 && twice < unasked * 2.5);
        check("no less than the option says: " + small, !Kit.underWisp() || small > same * 0.8);
        say("stacks are as large as they were asked for");
    }

    /** HotSpot's ThreadStackSize where nobody sets it: 1 MiB on x86-64, 2 on aarch64, 1.5 of the Zero VM. */
    private static long ofJvm() {
        if (System.getProperty("java.vm.name").contains("Zero")) {
            return 3 << 19;
        }
        return System.getProperty("os.arch").equals("aarch64") ? 2 << 20 : 1 << 20;
    }
}
