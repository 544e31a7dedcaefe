import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { newKey } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { reins, spawnServer, startServer } from "@reins/testing/process/ServerProcess"
import { assert, it } from "vitest"

const place = placeForEachTest()

/** A search path with what the server needs, and without bubblewrap. */
const pathWithoutSandbox = (): string => {
  const bin = join(place.directory, "bin")
  mkdirSync(bin)
  for (const name of ["git", "sh", "prlimit"]) {
    const { stdout } = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" })
    symlinkSync(stdout.trim(), join(bin, name))
  }
  return bin
}

/** The words before a server of a user without rights. */
const asNobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

const nobodysServer = (env: Readonly<Record<string, string>>, args: ReadonlyArray<string> = []) => {
  chmodSync(place.directory, 0o777)
  const given = { HOME: place.directory, XDG_CACHE_HOME: join(place.directory, "cache"), REINS_EXECUTOR: "", ...env }
  return { dataDir: join(place.directory, "nobody"), launcher: asNobody, env: given, args }
}

const backends = async (server: { readonly url: string }, dataDir: string) => {
  const authorization = `Bearer ${newKey(dataDir)}`
  const answer = await fetch(`${server.url}/api/executor-backends`, { headers: { authorization } })
  const { items } = (await answer.json()) as { readonly items: ReadonlyArray<Readonly<Record<string, unknown>>> }
  return Object.fromEntries(items.map(({ available, backend, note }) => [backend, { available, note }]))
}

it("without a sandbox, a server as root or beyond loopback starts only where that is wanted", async () => {
  const PATH = pathWithoutSandbox()
  const refused = async (options: Parameters<typeof spawnServer>[0]) => {
    const server = spawnServer(options)
    assert.strictEqual((await server.ended).code, 1)
    assert.match(
      server.log(),
      /would have no sandbox: bubblewrap does not work here: it is not installed.+--executor local/
    )
  }
  await refused({ dataDir: place.dataDir, env: { PATH, REINS_EXECUTOR: "" } })
  await refused(nobodysServer({ PATH }, ["--host", "0.0.0.0"]))
  await refused({ dataDir: place.dataDir, env: { PATH, REINS_EXECUTOR: "bubblewrap" } })
  const wanted = await startServer({
    dataDir: place.dataDir,
    env: { PATH, REINS_EXECUTOR: "" },
    args: ["--executor", "local"]
  })
  assert.notInclude(wanted.log(), "WITHOUT A SANDBOX")
  const { bubblewrap, local } = await backends(wanted, place.dataDir)
  assert.deepStrictEqual([bubblewrap?.available, local?.available], [false, true])
})

it("without a sandbox, a server of a user on loopback says so when it starts and in its catalog", async () => {
  const options = nobodysServer({ PATH: pathWithoutSandbox() })
  const server = await startServer(options)
  // The log is a stream of its own, and complete at the end.
  server.kill("SIGTERM")
  await server.ended
  assert.match(server.log(), /AGENTS RUN WITHOUT A SANDBOX.+not installed/)
})

it("with a sandbox, a server of a user without rights has it, also beyond loopback, and offers nothing else", async () => {
  const options = nobodysServer({}, ["--host", "0.0.0.0"])
  const server = await startServer(options)
  assert.notInclude(server.log(), "WITHOUT A SANDBOX")
  const { bubblewrap, local } = await backends({ url: server.url.replace("0.0.0.0", "127.0.0.1") }, options.dataDir)
  assert.deepStrictEqual([bubblewrap?.available, local?.available], [true, false])
  assert.match(String(local?.note), /does not run agents on local.+--executor/)
  const { stdout } = reins(options.dataDir, ["doctor"], { REINS_EXECUTOR: "" })
  assert.match(stdout, /^ok {4}sandbox {6}bubblewrap: /m)
})
