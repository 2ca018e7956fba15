-- What wrk's own report leaves out (p99.9, the exact time) or rounds; one line of key=value. A script that sets
-- nothing but done() leaves wrk's requests as fast as without one.
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    "wisp: requests=%d duration_us=%d connect=%d read=%d write=%d status=%d timeout=%d "
      .. "p50_us=%d p99_us=%d p99_9_us=%d max_us=%d\n",
    summary.requests, summary.duration, errors.connect, errors.read, errors.write, errors.status, errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
