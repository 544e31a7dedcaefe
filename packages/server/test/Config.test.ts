import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { load } from "@reins/server/Config"
import { coreConfigOf } from "@reins/server/cli/operator/Installation"
import { describe as shown } from "@reins/server/cli/operator/ShowConfig"
import { Effect, Either } from "effect"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-config-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("the configuration", () => {
  it.scoped("has a default for everything, with the data in .reins of the working directory", () =>
    Effect.gen(function* () {
      const here = yield* directory
      const config = yield* load({}, {}, here)
      assert.deepInclude(shown(config), {
        host: "127.0.0.1",
        port: 7117,
        data_dir: join(here, ".reins"),
        database_connections: 20,
        public_url: "http://127.0.0.1:7117/",
        rate_limit: 600,
        turn_minutes: 60,
        lease_seconds: 30,
        heartbeat_seconds: 15,
        request_seconds: 120,
        upload_bytes: 25 * 1024 * 1024,
        event_retention_days: null,
        database_url: null
      })
    })
  )

  it.scoped("takes the command line before the environment before the file", () =>
    Effect.gen(function* () {
      const here = yield* directory
      writeFileSync(
        join(here, "reins.json"),
        JSON.stringify({ port: 1, host: "file", rate_limit: "off", allow_local_repositories: true })
      )
      const config = yield* load(
        { port: "3" },
        { REINS_PORT: "2", REINS_HOST: "environment", REINS_MAIL_FROM: "" },
        here
      )
      assert.deepInclude(shown(config), {
        port: 3,
        host: "environment",
        rate_limit: "off",
        allow_local_repositories: true,
        mail_from: "Reins <reins@localhost>"
      })
    })
  )

  it.scoped("takes a store of blobs that can be used, and tells no key of it", () =>
    Effect.gen(function* () {
      const here = yield* directory
      const keys = { AWS_ACCESS_KEY_ID: "an-id", AWS_SECRET_ACCESS_KEY: "secret-canary" }
      const database = { REINS_DATABASE_URL: "postgres://localhost/reins" }
      const bucket = "s3://bucket/prefix?endpoint=https://minio.example.com&region=eu-west-1"
      for (const [blobs, environment] of [
        ["directory:/var/blobs", {}],
        ["postgres", database],
        [bucket, keys]
      ] as const) {
        const config = yield* load({ blobs }, environment, here)
        assert.strictEqual(shown(config).blobs, blobs)
        assert.notInclude(JSON.stringify([config, shown(config)]), "secret-canary")
      }
      assert.isNull(shown(yield* load({}, keys, here)).blobs)
      for (const [blobs, words] of [
        ["/var/blobs", /"blobs" has to be directory:/],
        ["s3://id:secret-canary@bucket", /"blobs" has to be directory:/],
        ["postgres", /only on a PostgreSQL database/],
        [bucket, /set both/]
      ] as const) {
        const { message } = yield* Effect.flip(load({ blobs }, {}, here))
        assert.match(message, words)
        assert.notInclude(message, "secret-canary")
      }
    })
  )

  it.scoped("takes a comma list of hosts that may be private, and nothing that is no host", () =>
    Effect.gen(function* () {
      const here = yield* directory
      const given = (hosts: string) => load({}, { REINS_ALLOW_PRIVATE_HOSTS: hosts }, here)
      assert.deepStrictEqual((yield* given("")).allowPrivateHosts, [])
      assert.deepStrictEqual((yield* given("127.0.0.1:11434, gitlab.lan,[::1]")).allowPrivateHosts, [
        "127.0.0.1:11434",
        "gitlab.lan",
        "[::1]"
      ])
      assert.deepStrictEqual((yield* given("*")).allowPrivateHosts, ["*"])
      assert.include((yield* Effect.flip(given("http://gitlab.lan"))).problem, "allow_private_hosts")
    })
  )

  it.scoped("takes directories that agents may read, and none that leads to what the service keeps", () =>
    Effect.gen(function* () {
      const here = yield* directory
      for (const made of ["guides", "data/sessions"]) mkdirSync(join(here, made), { recursive: true })
      symlinkSync(join(here, "data"), join(here, "link"))
      const given = (directories: string) =>
        load({}, { REINS_SHARED_DIRECTORIES: directories, REINS_DATA_DIR: "data" }, here)
      assert.deepStrictEqual((yield* given("guides")).sharedDirectories, [join(here, "guides")])
      for (const refused of [".", "/", "data", "data/sessions", "link", "nowhere", "guides,data"])
        assert.include((yield* Effect.flip(given(refused))).problem, "shared_directories", refused)
    })
  )

  it.scoped("takes times within their bounds: a client that hears no heartbeat for 45 s gives its stream up", () =>
    Effect.gen(function* () {
      const here = yield* directory
      const given = (lease: string, heartbeat: string, request: string) =>
        load({ lease_seconds: lease, heartbeat_seconds: heartbeat, request_seconds: request }, {}, here)
      const least = yield* given("3", "1", "5")
      assert.deepInclude(shown(least), { lease_seconds: 3, heartbeat_seconds: 1, request_seconds: 5 })
      assert.strictEqual(coreConfigOf(least).leaseMs, 3000)
      const { problem } = yield* Effect.flip(given("2", "16", "4"))
      for (const name of ["lease_seconds", "heartbeat_seconds", "request_seconds"]) assert.include(problem, name)
    })
  )

  it.scoped("names every setting that is wrong and says what it has to be, quoting nothing of it", () =>
    Effect.gen(function* () {
      const here = yield* directory
      const environment = {
        REINS_PORT: "canary",
        REINS_SMTP_URL: "http://canary",
        REINS_DATABASE_URL: "mysql://canary",
        REINS_PUBLIC_URL: "canary"
      }
      const { problem } = yield* Effect.flip(load({}, environment, here))
      for (const name of ["port", "smtp_url", "database_url", "public_url"]) assert.include(problem, `"${name}"`)
      assert.notInclude(problem, "canary")
    })
  )

  it.scoped("says that a database URL names several hosts, and takes commas elsewhere in it", () =>
    Effect.gen(function* () {
      const here = yield* directory
      const problemOf = (REINS_DATABASE_URL: string) =>
        Effect.map(Effect.either(load({}, { REINS_DATABASE_URL }, here)), (loaded) =>
          Either.isLeft(loaded) ? loaded.left.problem : undefined
        )
      for (const several of [
        "postgres://u:canary@one.example,two.example/reins",
        "postgresql://u:canary@one:5432,two:5433/reins?target_session_attrs=read-write",
        "postgres://u:canary@[::1],[::2]/reins",
        "postgres://u:canary@one%2Ctwo/reins",
        "postgres:///reins?host=one,two",
        "postgres://one/reins?host=one%2Ctwo",
        "postgres://one/reins?port=5432,5433",
        "postgres://u:canary@one,/reins"
      ]) {
        const problem = yield* problemOf(several)
        assert.match(problem ?? "", /^REINS_DATABASE_URL names several hosts/, several)
        assert.notInclude(problem, "canary")
      }
      for (const one of [
        "postgres://u:a,b@one:5432/reins",
        "postgres://u:a%2Cb@[::1]:5432/reins",
        "postgres://one/re,ins",
        "postgres:///reins?host=/var/run/postgresql",
        "postgres://one/reins?options=-c%20search_path%3Da,b",
        "postgres://u@/reins"
      ])
        assert.strictEqual(yield* problemOf(one), undefined, one)
    })
  )

  it.scoped("refuses a setting that there is not, and a file that is no JSON object", () =>
    Effect.gen(function* () {
      const here = yield* directory
      writeFileSync(join(here, "reins.json"), JSON.stringify({ prot: 7117 }))
      assert.include((yield* Effect.flip(load({}, {}, here))).problem, 'There is no setting "prot"')
      for (const text of ["{", "[]", '{"port":{}}']) {
        writeFileSync(join(here, "reins.json"), text)
        assert.include((yield* Effect.flip(load({}, {}, here))).problem, "is not a JSON object of settings")
      }
    })
  )

  it.scoped("is shown without its secrets", () =>
    Effect.gen(function* () {
      const environment = {
        REINS_SMTP_URL: "smtp://user:canary@mail:25",
        REINS_DATABASE_URL: "postgres://u:canary@db/reins?password=canary"
      }
      const text = JSON.stringify(shown(yield* load({}, environment, yield* directory)))
      assert.notInclude(text, "canary")
      assert.include(text, "@mail:25")
      assert.include(text, "@db/reins")
    })
  )
})
