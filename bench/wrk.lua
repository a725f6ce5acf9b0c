-- Requests of many clients, told apart by a header; the result as one line of JSON.
local requests, at = {}, 0

function init(args)
  for i = 1, tonumber(args[1]) do
    requests[i] = wrk.format('GET', '/', { ['x-client'] = 'c' .. i })
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  io.write(string.format(
    '\nRESULT {"requests":%d,"seconds":%.6f,"p50":%.4f,"p99":%.4f,"denied":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  ))
end
