import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { type Finished, reinsAside, startServer } from "@reins/testing/process/ServerProcess"
import { variants } from "@reins/testing/Variants"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { makeInstallation, reinsAt } from "./Cli.js"

const place = placeForEachTest()
/** All that the commands of a test have said. */
let said = ""

beforeEach(() => {
  said = ""
})

const run = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}): Promise<Finished> => {
  const finished = await reinsAt({ cwd: place.directory, env }, [...args, "--data-dir", place.dataDir])
  said += `${finished.stdout}${finished.stderr}`
  return finished
}

/** Runs what has to succeed, and gives the one line of JSON that it prints for programs. */
const succeed = async (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await run(args)
  assert.strictEqual(status, 0, `${args.join(" ")}: ${stderr}`)
  assert.match(stdout, /^[^\n]+\n$/)
  return JSON.parse(stdout)
}

/** Runs what has to be refused: in words, with nothing for programs to take for a result, and without a trace of the stack. */
const refuse = async (args: ReadonlyArray<string>, words: RegExp, env: Readonly<Record<string, string>> = {}) => {
  const { status, stderr, stdout } = await run(args, env)
  const told = `${args.join(" ")}: ${stderr}`
  assert.strictEqual(status, 1, told)
  assert.match(stderr, words, told)
  assert.notMatch(stderr, /^ +at /m, told)
  return stdout
}

const passwordCanary = "database-password-canary-8c"
const unreachable = { REINS_DATABASE_URL: `postgres://reins:${passwordCanary}@127.0.0.1:9/reins` }

/** The secrets that no command may tell. */
const secrets = (): ReadonlyArray<string> => {
  const ring = join(place.dataDir, "keyring.json")
  const keys: Record<string, string> | undefined = existsSync(ring)
    ? JSON.parse(readFileSync(ring, "utf8")).keys
    : undefined
  return [...Object.values(keys ?? {}), passwordCanary]
}

afterEach(() => {
  for (const secret of secrets()) assert.notInclude(said, secret)
})

describe("arguments that make no sense are refused, and nothing is made", () => {
  const cases: ReadonlyArray<readonly [args: string, words: RegExp]> = [
    ["backup", /^reins: backup needs <target>: .+ See: reins help backup\n$/],
    ["restore", /^reins: restore needs <file>: .+\n$/],
    ["keyring forget", /^reins: keyring forget needs <key>: .+\n$/],
    ["keyring spin", /^reins: There is no command "keyring spin"\. There are: rotate, prune, forget, create\.\n$/],
    ["migrate --force", /^reins: There is no option --force\. See: reins help migrate\n$/],
    ["doctor --jason", /^reins: There is no option --jason\. Did you mean --json\?\n$/],
    ["backup --files-only out.tar", /^reins: --files-only is for an installation on PostgreSQL/],
    ["backup out.tar", /^reins: The database \S+ cannot be used: it does not exist\n$/],
    ["restore none.tar", /^reins: \S+none\.tar cannot be read: ENOENT/],
    ["migrate --check", /^reins: The schema is not up to date: it lacks [1-9]\d* steps\. .* run: reins migrate\n$/]
  ]
  for (const [args, words] of cases) {
    it(`reins ${args}`, async () => {
      await refuse(args.split(" "), words)
      assert.isFalse(existsSync(place.dataDir))
    })
  }
})

it("only serve, init and restore make a data directory: all else says that there is none", async () => {
  const at = { cwd: place.directory, env: { REINS_PASSWORD: "a quiet heron at noon", HOME: place.directory } }
  for (const words of [
    "keys create --email me@example.com --name x",
    "accounts create --email me@example.com",
    "accounts first",
    "keyring rotate",
    "keyring prune",
    "keyring forget key_1",
    "keyring create",
    "harnesses enable claude",
    "harnesses disable claude",
    "migrate"
  ]) {
    const { status, stderr, stdout } = await reinsAt(at, words.split(" "))
    assert.deepStrictEqual([status, stdout], [1, ""], words)
    assert.match(
      stderr,
      /^reins: There is no installation in \S+\.reins\. Make one with `reins init`, or name yours with --data-dir\.\n$/
    )
  }
  for (const words of ["backup out.tar", "node list", "migrate --check", "harnesses list", "config", "doctor"])
    await reinsAt(at, words.split(" "))
  assert.isFalse(existsSync(join(place.directory, ".reins")))
})

it("a database that cannot be reached is named without its password, by whatever needs it", async () => {
  const words =
    /^reins: The PostgreSQL database cannot be reached \(ECONNREFUSED\)\. Check that it runs, and REINS_DATABASE_URL\.\n$/
  const commands = [
    ["serve"],
    ["migrate"],
    ["migrate", "--check"],
    ["backup", "--files-only", "out.tar"],
    ["keys", "create", "--email", "a@example.com", "--name", "k"],
    ["keyring", "rotate"]
  ]
  for (const args of commands) await refuse(args, words, unreachable)
  await refuse(
    ["backup", "out.tar"],
    /pg_dump .*"\$\{REINS_DATABASE_URL:\?\}"\n.*reins backup --files-only .*out\.tar/,
    unreachable
  )
  assert.match(await refuse(["doctor"], /^reins: .*\bdatabase\b.*\.\n$/, unreachable), /^fail {2}database .*\n +-> /m)
})

it("migrate takes each step once and says which, and --check changes nothing", async () => {
  await refuse(["migrate"], /^reins: There is no installation in \S+\. Make one with `reins init`, .+\n$/)
  mkdirSync(place.dataDir, { mode: 0o700 })
  writeFileSync(join(place.dataDir, "reins.db"), "", { mode: 0o600 })
  const before = JSON.parse(await refuse(["migrate", "--check"], /not up to date/))
  assert.isNotEmpty(before.pending)
  assert.deepInclude(await succeed("migrate"), { event: "migrated", applied: before.pending, schema: before.pending })
  const written = statSync(join(place.dataDir, "reins.db")).mtimeMs
  assert.deepInclude(await succeed("migrate", "--check"), { applied: before.pending, pending: [] })
  assert.strictEqual(statSync(join(place.dataDir, "reins.db")).mtimeMs, written)
  assert.deepInclude(await succeed("migrate"), { applied: [], schema: before.pending })
})

it("doctor finds what is wrong, says what to do about it in words and in JSON, and changes nothing", async () => {
  const { checks, ok } = await succeed("doctor", "--json")
  assert.isTrue(ok)
  assert.includeMembers(
    checks.map(({ check }: { readonly check: string }) => check),
    [
      "node",
      "git",
      "data dir",
      "disk",
      "server",
      "database",
      "key ring",
      "mail",
      "public URL",
      "user",
      "privacy",
      "key file",
      "reach",
      "proxies",
      "openings"
    ]
  )
  assert.isFalse(existsSync(place.dataDir))
  mkdirSync(place.dataDir)
  const damage = async (name: string, check: string) => {
    writeFileSync(join(place.dataDir, name), "{}", { mode: 0o600 })
    const text = await refuse(
      ["doctor"],
      new RegExp(`^reins: These checks failed: ${check}\\. Do what is said beside each, then run this again\\.\n$`)
    )
    assert.match(text, new RegExp(`^fail  ${check} .+\n +-> .+$`, "m"))
  }
  await damage("keyring.json", "key ring")
  rmSync(join(place.dataDir, "keyring.json"))
  await damage("reins.db", "database")
  const json = JSON.parse(await refuse(["doctor", "--json"], /^reins: These checks failed/))
  assert.isFalse(json.ok)
  assert.strictEqual(readFileSync(join(place.dataDir, "reins.db"), "utf8"), "{}")
})

it("doctor asks the store of blobs, and says which sessions it waits for", async () => {
  const path = join(place.directory, "blobs")
  const lookAt = async (blobs: string) => {
    const { stdout } = await run(["doctor", "--json", "--blobs", blobs])
    return JSON.parse(stdout).checks.find(({ check }: { readonly check: string }) => check === "blobs")
  }
  await makeInstallation(place.dataDir)
  assert.deepInclude(await lookAt(`directory:${path}`), {
    state: "ok",
    detail: `directory:${path}; every session is sealed`
  })
  writeFileSync(path, "in the way")
  const broken = await lookAt(`directory:${path}`)
  assert.strictEqual(broken.state, "fail")
  assert.match(broken.detail, /directory of blobs cannot be used/)
  rmSync(path)
  const db = openSqlite(join(place.dataDir, "reins.db"))
  db.pragma("foreign_keys = off")
  db.prepare(
    "insert into unsealed_sessions values ('sess_x', 1, null, '2026-01-01T00:00:00.000Z', 'It was full.')"
  ).run()
  db.close()
  const late = await lookAt(`directory:${path}`)
  assert.strictEqual(late.state, "warn")
  assert.match(
    late.detail,
    /^1 session without a snapshot of its newest state, the oldest for \d+ minutes: It was full\.$/
  )
})

it("doctor says what is open to others, from the data directory to the settings", async () => {
  mkdirSync(place.dataDir)
  chmodSync(place.dataDir, 0o755)
  const stateOf = async (args: ReadonlyArray<string>, environment: Record<string, string>) => {
    const { stdout } = await run(["doctor", "--json", ...args], environment)
    const { checks }: { readonly checks: ReadonlyArray<Record<"check" | "state" | "detail", string>> } =
      JSON.parse(stdout)
    return (check: string) => checks.filter((finding) => finding.check === check).map(({ state }) => state)
  }
  const inside = await stateOf([], {})
  assert.deepStrictEqual(["privacy", "reach", "proxies", "openings"].map(inside), [["warn"], ["ok"], ["ok"], ["ok"]])
  assert.deepStrictEqual(inside("user"), [process.geteuid?.() === 0 ? "warn" : "ok"])
  const outside = await stateOf(["--host", "0.0.0.0", "--public-url", "https://reins.example.com"], {
    REINS_RATE_LIMIT: "off",
    REINS_METRICS: "on",
    REINS_ALLOW_LOCAL_REPOSITORIES: "on",
    REINS_ALLOW_PRIVATE_HOSTS: "*"
  })
  assert.deepStrictEqual([outside("reach"), outside("proxies")], [["warn"], ["warn"]])
  assert.strictEqual(outside("openings").join(), "warn,warn,warn,warn")
  assert.deepStrictEqual((await stateOf([], { REINS_TRUSTED_PROXIES: "0.0.0.0/0" }))("proxies"), ["fail"])
  writeFileSync(join(place.dataDir, "keyring.json"), "{}", { mode: 0o644 })
  assert.deepStrictEqual((await stateOf([], {}))("key file"), ["fail"])
})

it("a backup is written once, and restored only whole and into an empty directory", async () => {
  const file = join(place.directory, "backup.tar")
  const elsewhere = join(place.directory, "elsewhere")
  await makeInstallation(place.dataDir)
  const made = await succeed("backup", file)
  assert.deepInclude(made, { event: "backup", file, database: "sqlite", sessions: 0, key_ring: "left_out" })
  assert.strictEqual(statSync(file).mode & 0o077, 0, "others cannot read it")
  assert.strictEqual(made.bytes, statSync(file).size)
  await refuse(
    ["backup", file],
    /^reins: \S+ is there already\. Name a file that does not exist yet, or a directory\.\n$/m
  )
  await refuse(["restore", file], /^reins: \S+ is not empty: .*Restore into an empty directory with --data-dir\.\n$/)

  const whole = readFileSync(file)
  const broken = join(place.directory, "broken.tar")
  const flipped = Buffer.from(whole)
  flipped[whole.length >> 1] = (flipped[whole.length >> 1] ?? 0) ^ 1
  for (const bytes of [Buffer.from("junk"), whole.subarray(0, whole.length >> 1), flipped]) {
    writeFileSync(broken, bytes)
    const restored = await reinsAt({ cwd: place.directory, env: {} }, ["restore", broken, "--data-dir", elsewhere])
    assert.strictEqual(restored.status, 1, restored.stdout)
    assert.match(restored.stderr, /^reins: .*Nothing was restored/m)
  }
  assert.strictEqual(readFileSync(file).compare(whole), 0)
  const restored = await reinsAside(elsewhere, ["restore", file])
  assert.strictEqual(restored.status, 0, restored.stderr)
  assert.deepInclude(JSON.parse(restored.stdout), { event: "restored", created_at: made.created_at, missing_keys: [] })
})

variants(() => {
  it("a backup that lacks files of sessions says which, and fails; the doctor knows of them", async () => {
    const file = join(place.directory, "backup.tar")
    const server = await startServer({ dataDir: place.dataDir })
    const caller = await newCaller(server, place.dataDir)
    const client = caller.at(server)
    const session = await client.sessions.create({ workspace_id: caller.workspaceId })
    await client.sessions.uploadFile({ session_id: session.id, path: "a.txt", content: "a\n" })
    assert.deepInclude(await succeed("backup", join(place.directory, "whole.tar")), { sessions: 1, missing: [] })
    rmSync(join(place.dataDir, "sessions", session.id), { recursive: true })
    const told = await refuse(["backup", file], new RegExp(`^reins: The backup is NOT whole: .*${session.id}`, "m"))
    assert.deepInclude(JSON.parse(told), { file, sessions: 0, missing: [session.id] })
    const json = JSON.parse(await refuse(["doctor", "--json"], /^reins: These checks failed: files\./))
    const found = json.checks.find(({ check }: { readonly check: string }) => check === "files")
    assert.include(found.detail, session.id)
  })
})

it("keyring create makes a key ring once, for its user alone, and leaves one that is there", async () => {
  const file = join(place.dataDir, "keyring.json")
  assert.deepStrictEqual(await succeed("keyring", "create"), { event: "created", file })
  assert.strictEqual(statSync(file).mode & 0o777, 0o600)
  const made = readFileSync(file, "utf8")
  assert.deepStrictEqual(await succeed("keyring", "create"), { event: "kept", file })
  assert.strictEqual(readFileSync(file, "utf8"), made)
  writeFileSync(file, "{}", { mode: 0o600 })
  await refuse(["keyring", "create"], /it is not a key ring of format 1/)
})

it("keyring seals anew, keeps old keys as long as they are needed, and gives up none that it holds", async () => {
  const server = await startServer({ dataDir: place.dataDir })
  await newCaller(server, place.dataDir)
  const first = await succeed("keyring", "rotate")
  assert.deepInclude(first, { event: "rotated", rewrapped: 2, removed: [] })
  assert.deepInclude(await succeed("keyring", "prune"), { event: "pruned", current: first.current, removed: [] })
  assert.match(said, /Keep a copy of \S+keyring\.json apart from the backups/)
  assert.match(said, /The old key \S+ stays: .+\. Run this later: reins keyring prune\n/)
  await refuse(
    ["keyring", "forget", first.current],
    new RegExp(`^reins: ${first.current} is in the key ring, so nothing is lost with it\\. `)
  )
})
