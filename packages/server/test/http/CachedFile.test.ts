import { assert, it } from "@effect/vitest"
import { takesGzip } from "@reins/server/http/CachedFile"

it("gzip is taken where a client allows it, by its name before by a star", () => {
  for (const [accepted, takes] of [
    ["gzip", true],
    ["deflate, gzip;q=0.5", true],
    ["GZIP ; q=1.0", true],
    ["*", true],
    ["br;q=1, *;q=0.1", true],
    ["gzip;q=0.001", true],
    ["gzip;q=0", false],
    ["gzip; q=0.000", false],
    ["*;q=1, gzip;q=0", false],
    ["*;q=0", false],
    ["identity", false],
    ["x-gzip", false],
    ["gzipped", false],
    ["", false]
  ] as const)
    assert.strictEqual(takesGzip(accepted), takes, accepted)
  assert.isFalse(takesGzip(undefined))
})
