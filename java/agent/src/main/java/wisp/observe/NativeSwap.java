package wisp.observe;

/**
 * Where the runtime's native methods take the place of the JDK's and give it back. HotSpot prints a warning when a native
 * method of a platform class is registered for a caller outside of the boot loader; this class is inside.
 */
final class NativeSwap {
    private NativeSwap() {
    }

    private static native void swapAll(boolean on);

    static void swap(boolean on) {
        swapAll(on);
    }
}
