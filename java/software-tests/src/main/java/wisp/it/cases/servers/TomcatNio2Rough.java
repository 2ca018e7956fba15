package wisp.it.cases.servers;

import wisp.it.WispCase;

/** The same on Tomcat's NIO2 connector: the JDK's asynchronous channels and their epoll threads. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class TomcatNio2Rough {
    public static void main(String[] args) throws Exception {
        Rough.treat("Http11Nio2Protocol");
    }
}
