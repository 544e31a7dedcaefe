import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { steadyPort } from "./Ports.js"

export interface PostgresCluster {
  /** The directory of its programs, `pg_dump` and `pg_restore` among them. */
  readonly bin: string
  /** The directory of its data and its settings. It belongs to the user that the server runs as. */
  readonly data: string
  /** The URL of a fresh database. */
  readonly newDatabase: (name: string) => Promise<string>
  /** Ends it as an operator does who restarts it, which breaks every connection, and starts it again. `meanwhile` runs while it is away. */
  readonly restart: (meanwhile?: () => Promise<unknown>) => Promise<void>
  readonly stop: () => Promise<void>
}

export interface ClusterOptions {
  /** The address at which it listens, for every caller of its network; 127.0.0.1 unless given. */
  readonly host?: string
  /** The words before its program, which root runs, such as those that enter a network namespace. */
  readonly launcher?: ReadonlyArray<string>
  /** Settings of `postgresql.conf`, each as `name=value`. */
  readonly settings?: ReadonlyArray<string>
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
export const startCluster = async ({
  host = "127.0.0.1",
  launcher = [],
  settings = []
}: ClusterOptions = {}): Promise<PostgresCluster> => {
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
  appendFileSync(join(data, "pg_hba.conf"), "host all all samenet scram-sha-256\n")
  const all = [`port=${port}`, `listen_addresses=${host}`, "unix_socket_directories=", "fsync=off", ...settings]
  const words = [join(bin, "postgres"), "-D", data, ...all.flatMap((setting) => ["-c", setting])]
  const become =
    user.uid === undefined ? [] : ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"]
  const start = () => {
    const [program = "", ...args] = [...launcher, ...become, ...words]
    return spawn(program, args, { cwd: root, stdio: "ignore" })
  }
  let server = start()
  const url = (name: string) => `postgres://reins:${encodeURIComponent("p@ss/word")}@${host}:${port}/${name}`
  await ready(server, url("postgres"))
  return {
    bin,
    data,
    newDatabase: async (name) => {
      await administer(url("postgres"), `create database ${name}`)
      return url(name)
    },
    restart: async (meanwhile = async () => undefined) => {
      await ended(server, "SIGINT")
      await meanwhile()
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
    if (server.exitCode !== null || server.signalCode !== null)
      throw new Error(`PostgreSQL ended with ${server.exitCode ?? server.signalCode}.`)
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
    if (server.exitCode !== null || server.signalCode !== null) return resolve()
    server.once("exit", () => resolve())
    server.kill(signal)
  })
