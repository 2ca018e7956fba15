package wisp.bench;

import java.util.concurrent.locks.LockSupport;

/** Two threads take turns with {@code LockSupport.park} and {@code unpark}; the time of one hand-over. */
public final class ParkUnpark {
    private volatile int turn;
    private Thread[] players;

    public static void main(String[] args) throws Exception {
        Options options = new Options(ParkUnpark.class).define("handovers", 400_000)
                .define("kind", Threads.PLATFORM).parse(args);
        int handovers = options.number("handovers", 2, 1_000_000_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        run(kind, Math.max(2, handovers / 10)); // compiles the loop
        Report.value("ns_per_handover", run(kind, handovers));
        Report.valid();
    }

    private static double run(String kind, int handovers) throws InterruptedException {
        ParkUnpark game = new ParkUnpark();
        int last = handovers / 2 * 2;
        game.players = new Thread[] {
            Threads.unstarted(kind, () -> game.play(0, last)), Threads.unstarted(kind, () -> game.play(1, last))};
        long start = System.nanoTime();
        for (Thread player : game.players) {
            player.start();
        }
        for (Thread player : game.players) {
            player.join();
        }
        double nanos = System.nanoTime() - start;
        Report.check("turns taken", last, game.turn);
        return nanos / last;
    }

    private void play(int me, int last) {
        for (int mine = me; mine < last; mine += 2) {
            while (turn != mine) {
                LockSupport.park(this);
            }
            turn = mine + 1;
            LockSupport.unpark(players[1 - me]);
        }
    }
}
