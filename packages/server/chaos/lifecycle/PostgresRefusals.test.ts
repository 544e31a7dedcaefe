import { spawnSync } from "node:child_process"
import { chownSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { type PostgresCluster, startCluster } from "@reins/testing/process/PostgresCluster"
import { reins, startServer } from "@reins/testing/process/ServerProcess"
import { afterEach, assert, beforeEach, it } from "vitest"

const place = placeForEachTest()

/** The server of a test holds its own data directory. */
const other = () => join(place.directory, "other")

let cluster: PostgresCluster
beforeEach(async () => {
  cluster = await startCluster()
})
afterEach(async () => {
  await place.endProcesses()
  await cluster.stop()
})

/** Holds `serve`, `migrate` and `doctor` to one sentence each, without a stack and without the password. */
const assertRefused = (url: string, sentence: RegExp) => {
  const env = { REINS_DATABASE_URL: url }
  for (const command of ["serve", "migrate"]) {
    const { status, stderr, stdout } = reins(other(), [command], env)
    assert.deepStrictEqual([status, stdout], [1, ""], `${command}: ${stderr}`)
    assert.match(stderr, sentence, command)
    // A service has lines of its log before the sentence.
    assert.match(stderr, /^(?:\{.*\}\n)*reins: [^\n]+\n$/, command)
    assert.notMatch(stderr, /p@ss|p%40ss|\\n +at /, command)
  }
  const { stderr, stdout } = reins(other(), ["doctor"], env)
  assert.match(stdout, new RegExp(`^fail {2}database +.*${sentence.source}`, "m"))
  assert.notMatch(stdout + stderr, /^ +at |p@ss|p%40ss/m)
}

const post = async (url: string, apiKey: string, workspaceId: string, slug: string) => {
  const answer = await fetch(`${url}/api/workspaces/${workspaceId}/projects`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": `refusals-${slug}`
    },
    body: JSON.stringify({ slug, name: "One" })
  })
  return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get("retry-after") }
}

it("a hot standby and a server that is away are 503 to requests, and a sentence to commands", async () => {
  const url = await cluster.newDatabase("reins")
  const env = { REINS_DATABASE_URL: url }
  const server = await startServer({ dataDir: place.dataDir, env })
  const { apiKey, workspaceId } = await newCaller(server, place.dataDir, undefined, env)
  const refusedWith = async (reason: string, slug: string) => {
    const { retryAfter, status, text } = await post(server.url, apiKey, workspaceId, slug)
    assert.deepStrictEqual([status, /"reason":"(\w+)"/.exec(text)?.[1]], [503, reason], text)
    assert.match(retryAfter ?? "none", /^\d+$/)
  }
  await cluster.restart(async () => {
    await refusedWith("database_unavailable", "one")
    assertRefused(url, /The PostgreSQL database cannot be reached \(ECONNREFUSED\)/)
    writeFileSync(join(cluster.data, "standby.signal"), "")
  })
  await refusedWith("read_only", "one")
  assertRefused(url, /PostgreSQL takes no writes .*Name the primary server and no standby/)
  await cluster.restart(async () => void spawnSync("rm", [join(cluster.data, "standby.signal")]))
  const { status, text } = await post(server.url, apiKey, workspaceId, "one")
  assert.strictEqual(status, 201, text)
  assert.notMatch(server.log(), /^ +at /m)
})

it("a server with TLS that lets nobody in without it is told so, and is reached with it", async () => {
  const url = await cluster.newDatabase("reins")
  const [key, cert] = [join(cluster.data, "server.key"), join(cluster.data, "server.crt")]
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
  const made = spawnSync("openssl", [...args, ...names, "-keyout", key, "-out", cert], { encoding: "utf8" })
  assert.strictEqual(made.status, 0, made.stderr)
  const { gid, uid } = statSync(cluster.data)
  for (const file of [key, cert]) chownSync(file, uid, gid)
  const [rules, settings] = [join(cluster.data, "pg_hba.conf"), join(cluster.data, "postgresql.conf")]
  const asked = { sslmode: "verify-full", sslrootcert: cert }
  const withTls = `${url}?${new URLSearchParams(asked)}`
  assertRefused(withTls, /The PostgreSQL server has no TLS/)
  await cluster.restart(async () => {
    writeFileSync(settings, `${readFileSync(settings, "utf8")}\nssl = on\n`)
    // The maintenance database is asked whether the server is ready.
    const lines = ["host postgres all 127.0.0.1/32 scram-sha-256", "hostssl all all 127.0.0.1/32 scram-sha-256"]
    writeFileSync(rules, `${lines.join("\n")}\n`)
  })
  assertRefused(url, /lets the user of REINS_DATABASE_URL in over TLS alone/)
  assertRefused(`${url}?sslmode=verify-full`, /The certificate of the PostgreSQL server is not trusted/)
  const migrated = reins(place.dataDir, ["migrate"], { REINS_DATABASE_URL: withTls })
  assert.strictEqual(migrated.status, 0, migrated.stderr)
})
