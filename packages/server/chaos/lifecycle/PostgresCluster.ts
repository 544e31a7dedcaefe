import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { steadyPort } from "@reins/testing/process/Ports"
import pg from "pg"

export interface PostgresCluster {
  /** The directory of its programs, `pg_dump` and `pg_restore` among them. */
  readonly bin: string
  /** The URL of a fresh database. */
  readonly newDatabase: (name: string) => Promise<string>
  /** Ends it as an operator does who restarts it, which breaks every connection, and starts it again. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Where the programs of the newest PostgreSQL of this machine are, as Debian lays them out or on the path. */
const programs = (): string => {
  const versions = "/usr/lib/postgresql"
  const installed = existsSync(versions) ? readdirSync(versions) : []
  const places = installed
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(versions, version, "bin"))
    .concat((process.env["PATH"] ?? "").split(":"))
  const found = places.find((place) => ["initdb", "postgres", "pg_dump"].every((name) => existsSync(join(place, name))))
  if (found === undefined) throw new Error("There is no PostgreSQL with pg_dump on this machine: install postgresql.")
  return found
}

/** PostgreSQL refuses to run as root: there it runs as the user that its package made. */
const owner = () => {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: idOf("-u"), gid: idOf("-g") }
}

/** A PostgreSQL of the same version as the tools that an operator of this machine has. */
export const startCluster = async (): Promise<PostgresCluster> => {
  const bin = programs()
  const user = owner()
  const root = mkdtempSync(join(tmpdir(), "reins-cluster-"))
  const passwordFile = join(root, "password")
  const data = join(root, "data")
  writeFileSync(passwordFile, "p@ss/word")
  mkdirSync(data, { mode: 0o700 })
  if (user.uid !== undefined) for (const path of [root, passwordFile, data]) chownSync(path, user.uid, user.gid)
  const initial = [
    "--username=reins",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--no-sync"
  ]
  execFileSync(join(bin, "initdb"), ["--pgdata", data, ...initial], { ...user, cwd: root, stdio: "pipe" })
  const port = await steadyPort()
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"]
  const flags = settings.flatMap((setting) => ["-c", setting])
  const start = () => spawn(join(bin, "postgres"), ["-D", data, ...flags], { ...user, cwd: root, stdio: "ignore" })
  let server = start()
  const url = (name: string) => `postgres://reins:${encodeURIComponent("p@ss/word")}@127.0.0.1:${port}/${name}`
  await ready(server, url("postgres"))
  return {
    bin,
    newDatabase: async (name) => {
      await administer(url("postgres"), `create database ${name}`)
      return url(name)
    },
    restart: async () => {
      await ended(server, "SIGINT")
      server = start()
      await ready(server, url("postgres"))
    },
    stop: async () => {
      await ended(server, "SIGQUIT")
      rmSync(root, { recursive: true, force: true })
    }
  }
}

const administer = async (connectionString: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** It takes connections only once it has read its files. */
const ready = async (server: ChildProcess, url: string): Promise<void> => {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}.`)
    const failure = await administer(url, "select 1").then(
      () => undefined,
      (cause) => cause
    )
    if (failure === undefined) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const ended = (server: ChildProcess, signal: NodeJS.Signals): Promise<void> =>
  new Promise((resolve) => {
    if (server.exitCode !== null) return resolve()
    server.once("exit", () => resolve())
    server.kill(signal)
  })
