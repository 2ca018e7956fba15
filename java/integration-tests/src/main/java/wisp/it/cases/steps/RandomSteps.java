package wisp.it.cases.steps;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import wisp.it.Kit;

/**
 * Random steps by hand: {@code RandomSteps FIRST COUNT [WORLD…]} prints the logs of these seeds, each in the worlds named, or
 * else in one after the other; {@code RandomSteps exit SEED WORLD} ends in the middle of one.
 */
public final class RandomSteps {
    private static final Map<String, Steps.Maker> WORLDS = new LinkedHashMap<>();

    static {
        WORLDS.put("monitors", Monitors::new);
        WORLDS.put("locks", Locks::new);
        WORLDS.put("queues", Queues::new);
        WORLDS.put("synchronizers", Synchronizers::new);
        WORLDS.put("lives", Lives::new);
        WORLDS.put("pools", Pools::new);
        WORLDS.put("sockets", Sockets::new);
        WORLDS.put("datagrams", Datagrams::new);
        WORLDS.put("channels", Channels::new);
        WORLDS.put("selectors", Selectors::new);
        WORLDS.put("async", AsyncChannels::new);
        WORLDS.put("processes", Processes::new);
        WORLDS.put("paths", Paths::new);
    }

    private RandomSteps() {
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("exit")) {
            Steps.exit(WORLDS.get(args[2]), Long.parseLong(args[1]));
        }
        long first = Long.parseLong(args[0]);
        long count = Long.parseLong(args[1]);
        if (args.length > 2) {
            print(first, count, Arrays.copyOfRange(args, 2, args.length));
        }
        String[] worlds = WORLDS.keySet().toArray(new String[0]);
        for (long seed = first; args.length == 2 && seed < first + count; seed++) {
            print(seed, 1, worlds[(int) (seed % worlds.length)]);
        }
        // What is left in a deadlock, or of a pool, must not keep the process.
        System.exit(0);
    }

    static void print(long first, long count, String... worlds) throws Exception {
        for (long seed = first; seed < first + count; seed++) {
            for (String world : worlds) {
                Kit.say("== %s %d", world, seed);
                System.out.print(Steps.log(WORLDS.get(world), seed));
                System.out.flush();
            }
        }
    }
}
