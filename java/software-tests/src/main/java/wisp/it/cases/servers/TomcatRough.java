package wisp.it.cases.servers;

import wisp.it.WispCase;

/** Tomcat's NIO connector with clients that vanish. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class TomcatRough {
    public static void main(String[] args) throws Exception {
        Rough.treat("Http11NioProtocol");
    }
}
