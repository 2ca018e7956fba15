package wisp.it.cases.servers;

import wisp.it.WispCase;

/** The same on Tomcat's NIO2 connector. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120)
public final class TomcatNio2Tls {
    public static void main(String[] args) throws Exception {
        TomcatTls.serve("Http11Nio2Protocol");
    }
}
