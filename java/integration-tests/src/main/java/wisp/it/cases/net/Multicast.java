package wisp.it.cases.net;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Several members of a group on the loopback interface, each blocked in receive; leaving; closing while blocked. */
@WispCase
public final class Multicast {
    private static final int MEMBERS = 4, MESSAGES = 50;
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    public static void main(String[] args) throws Exception {
        System.setProperty("java.net.preferIPv4Stack", "true");
        NetworkInterface loopback = NetworkInterface.getByInetAddress(LOOPBACK);
        InetAddress group = InetAddress.getByName("239.192.7.7");
        MulticastSocket[] members = new MulticastSocket[MEMBERS];
        members[0] = new MulticastSocket(0);
        int port = members[0].getLocalPort();
        for (int i = 1; i < MEMBERS; i++) {
            members[i] = new MulticastSocket(port);
        }
        InetSocketAddress address = new InetSocketAddress(group, port);
        for (MulticastSocket member : members) {
            member.joinGroup(address, loopback);
        }
        CountDownLatch[] got = new CountDownLatch[MESSAGES];
        for (int n = 0; n < MESSAGES; n++) {
            got[n] = new CountDownLatch(MEMBERS);
        }
        Thread[] readers = new Thread[MEMBERS];
        for (int i = 0; i < MEMBERS; i++) {
            MulticastSocket member = members[i];
            readers[i] = Kit.start("member-" + i, () -> {
                for (int n = 0; n < MESSAGES; n++) {
                    DatagramPacket packet = new DatagramPacket(new byte[100], 100);
                    member.receive(packet);
                    String text = new String(packet.getData(), 0, packet.getLength(), StandardCharsets.US_ASCII);
                    Kit.check("in order: " + text + " as number " + n, text.equals("message " + n));
                    got[n].countDown();
                }
            });
        }
        try (MulticastSocket sender = new MulticastSocket()) {
            sender.setNetworkInterface(loopback);
            for (int n = 0; n < MESSAGES; n++) {
                byte[] text = ("message " + n).getBytes(StandardCharsets.US_ASCII);
                sender.send(new DatagramPacket(text, text.length, group, port));
                got[n].await(); // one at a time: nothing is dropped, and each time all members wait anew
            }
        }
        Kit.join(readers);
        Kit.say("%d members had %d messages each", MEMBERS, MESSAGES);

        members[0].leaveGroup(address, loopback);
        Kit.sayThrown("leaving twice", () -> members[0].leaveGroup(address, loopback));
        members[1].setSoTimeout(100);
        Kit.sayThrown("a timed receive", () -> members[1].receive(new DatagramPacket(new byte[9], 9)));
        Thread blocked = Kit.start("blocked", () ->
                Kit.sayThrown("closed while it waits", () -> members[2].receive(new DatagramPacket(new byte[9], 9))));
        Kit.awaitNative(blocked);
        members[2].close();
        Kit.join(blocked);
        try (DatagramSocket plain = new DatagramSocket(0, LOOPBACK)) {
            byte[] text = {1, 2, 3};
            plain.send(new DatagramPacket(text, 3, new InetSocketAddress(LOOPBACK, plain.getLocalPort())));
            DatagramPacket packet = new DatagramPacket(new byte[9], 9);
            plain.receive(packet);
            Kit.say("to itself: %d bytes", packet.getLength());
        }
        for (MulticastSocket member : members) {
            member.close();
        }
    }
}
