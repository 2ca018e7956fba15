package wisp.it.cases.servers;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Netty 4.2 on io_uring, which binds its rings to one kernel thread where the kernel lets it. Its jars are in a folder
 * of their own (wisp.netty42) and are loaded beside those of Netty 4.1, for which this was compiled.
 */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90,
        flags = {"-Dwisp.netty42=target/netty42", "24-99: --enable-native-access=ALL-UNNAMED"})
public final class NettyUring {
    private static final String PACKAGE = "io.netty.channel.uring.";

    public static void main(String[] args) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (File jar : new File(System.getProperty("wisp.netty42")).listFiles()) {
            urls.add(jar.toURI().toURL());
        }
        Kit.check("Netty 4.2 is there", !urls.isEmpty());
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (entry.endsWith("classes")) {
                urls.add(new File(entry + "/").toURI().toURL());
            }
        }
        // Above it only the JDK: what is found is 4.2's.
        ClassLoader jdk = ClassLoader.getSystemClassLoader().getParent();
        try (URLClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]), jdk)) {
            Thread.currentThread().setContextClassLoader(loader);
            loader.loadClass(Inside.class.getName()).getMethod("run").invoke(null);
        }
    }

    /** Loaded anew, by the other class loader. */
    public static final class Inside {
        private Inside() {
        }

        private static Class<?> of(String name) throws ClassNotFoundException {
            return Class.forName(PACKAGE + name);
        }

        private static EventLoopGroup group(int threads) throws Exception {
            Class<?> factory = Class.forName("io.netty.channel.IoHandlerFactory");
            Object handlers = of("IoUringIoHandler").getMethod("newFactory").invoke(null);
            return (EventLoopGroup) Class.forName("io.netty.channel.MultiThreadIoEventLoopGroup")
                    .getConstructor(int.class, factory).newInstance(threads, handlers);
        }

        /** By reflection: this is compiled for 4.1, which knows no io_uring. */
        public static void run() throws Exception {
            if (!(boolean) of("IoUring").getMethod("isAvailable").invoke(null)) {
                Kit.skip("no io_uring: " + of("IoUring").getMethod("unavailabilityCause").invoke(null));
            }
            new Netty(group(1), group(3), of("IoUringServerSocketChannel").asSubclass(ServerChannel.class),
                    of("IoUringSocketChannel").asSubclass(Channel.class)).run();
        }
    }
}
