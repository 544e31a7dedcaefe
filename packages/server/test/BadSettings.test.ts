import { assert, describe, it } from "@effect/vitest"
import { load } from "@reins/server/Config"
import { fields, type SettingName } from "@reins/server/ConfigFields"
import { Effect, Either } from "effect"

/** A value that is wrong for every setting but one of texts. */
const junk = ["\u0000", "\n", "a\nb", "\u001b[2J", " ", "\t", "a\u0000b", "\r\n"]

const numbers = [
  ...junk,
  ..."-1 1.5e3 0x10 1e3 Infinity NaN ten 1,000 1_000 +8 8s 8m ١٢ 99999999999999999999 1/2 on {} [] null true".split(
    " "
  ),
  " 8",
  "8 "
]
const flags = [...junk, ..."yes no y n 1 0 ON Off True TRUE enabled disabled t f oui null {} [] on,off -1".split(" ")]
const words = [
  ...junk,
  ..."unknown ALL Api api,runner none; 1 0 -1 {} [] null true a/b ../x http://x , ;".split(" "),
  "api "
]
const hosts =
  "http://0.0.0.0 https://a.example 0.0.0.0:7117 localhost:80 [::1]:7117 [::1 ::1] :::1:: 1.2.3 256.1.1.1 a/b a@b a?b a#b a,b * -a a- .a a..b user:x@h 1.2.3.4.5"
const paths = "~ ~/data ~other/x $HOME/x $(pwd)/x file:///x http://x/y s3://b/c smb://h/s ftp://h/x"
const lists = [
  ...junk.filter((text) => text.trim() !== ""),
  ..."a/b a@b a?b a:b:c a:99999 a:x a:-1 a,b/c http://u@h a%zz a|b a\\b <a> a:1:2 https://a/b a#b [::1 ]".split(" ")
]

/** URLs with a password that is not written as a URL wants it, or that are none. `scheme` is a right one. */
const urls = (scheme: string, port: number): ReadonlyArray<string> => [
  ...junk.filter((text) => text.trim() !== ""),
  ...[
    "user:canary/pass@host",
    `user:canary/pass@host:${port}`,
    "user:canary@pass@host",
    "user:12/canary@host",
    "user:12?canary@host",
    "user:12#canary@host",
    "user:canary#pass@host",
    "user:canary?pass@host",
    "user:canary%zz@host",
    "user:canary%@host",
    "user:canary%00@host",
    "user:canary pass@host",
    "user:canary\\pass@host",
    "user:canary@host:port",
    "user:canary@host:99999",
    "user:canary@[::1",
    "user:canary@ho st",
    "user:canary@host/a/b"
  ].map((rest) => `${scheme}://${rest}`),
  "canary",
  `http${scheme}://user:canary@host`,
  `${scheme}:user:canary@host`,
  `user:canary@host:${port}`
]

const web = [
  ...junk.filter((text) => text.trim() !== ""),
  ..."example.com //example.com http:example.com http:/example.com ftp://example.com https:// https://user@example.com https://u:p@example.com".split(
    " "
  ),
  ..."https://a?x=1 https://a#b https://a\\b https://[::1 https://a:99999 a:x a:-1 a,b/c http://u@h a%zz a|b a\\b <a> a:1:2 https://a:b javascript:x https://a/%zz https://a|b HTTPS".split(
    " "
  )
]

/** The settings with values that they cannot have. One that is not listed is a number. */
const wrong: Readonly<Partial<Record<SettingName, ReadonlyArray<string>>>> = {
  host: [...junk, ...hosts.split(" ")],
  data_dir: [...junk, ...paths.split(" "), " x", "x ", "\u007f"],
  key_file: [...junk, ...paths.split(" "), " x", "x ", "\u007f"],
  cache_dir: [...junk, ...paths.split(" "), " x", "x ", "\u007f"],
  manifests_dir: [...junk, ...paths.split(" "), " x", "x ", "\u007f"],
  shared_directories: [
    ...junk.filter((text) => text.trim() !== ""),
    ...paths.split(" "),
    "/nowhere/at/all",
    "/",
    "/proc/self/status",
    "no such directory",
    "/etc/passwd/x",
    "relative/nowhere",
    "/tmp,/nowhere/at/all",
    "~",
    "\u0000"
  ],
  database_url: urls("postgres", 5432),
  smtp_url: [...urls("smtp", 25), "smtp://", "smtps:///x", "smtp://user:canary@"],
  public_url: web,
  node_address: web,
  node: [...words, "A", "a_b", "-a", "a-", ".a", "a.", "a".repeat(64)].filter(
    (text) => !/^[a-z0-9.-]+$/.test(text) || /^[-.]|[-.]$/.test(text) || text.length > 63
  ),
  role: words,
  log_level: words.filter((text) => text !== "none"),
  executor: words,
  container_engine: words,
  container_image: [...words, "node", "node:22", "node@sha256:abc", `node@sha512:${"a".repeat(64)}`],
  blobs: [...words, "directory:", "directory:x", "s3://", "s3:bucket", "file:///x"],
  mail_from: [
    ...junk,
    ..."a @ a@ @b <a> a<b <a@b a@b> a@b@c a@b,c@d <a@b>,<c@d> <a@b>x Reins x<> <@> a@b\u0000".split(" "),
    "a b@c",
    "a@b c"
  ],
  git_committer: [
    ...junk,
    "reins@example.com",
    "Reins <>",
    "<a@b>",
    " R <a@b>",
    "R <a@b>x",
    "R@x <a@b>",
    "R <a b@c>",
    "R <a@b",
    "R a@b>",
    "R <<a@b>>",
    "R <a@b>, S <c@d>",
    "R <a@@b>"
  ],
  push_key: [...words, "A".repeat(43), "_".repeat(43), "A".repeat(44)],
  console: flags,
  acp: flags,
  metrics: flags,
  prewarm: flags,
  allow_local_repositories: flags,
  allow_ssh_repositories: flags,
  allow_private_hosts: lists,
  egress_direct: lists,
  egress_lookup: words,
  egress_proxy: [...urls("http", 3128), "http://host/path", "socks5://user:canary@host", "http://host?x=1"],
  trusted_proxies: [...lists, ..."10.0.0.0/33 10.0.0.0/-1 10.0.0.0/a 300.1.1.1 localhost 10.0.0 ::1/129".split(" ")],
  cors_origins: [...lists, ..."* null https://a/ https://a/b https://A.example tauri: file:///x".split(" ")],
  rate_limit: [...numbers.filter((text) => text !== "on"), "0", "OFF"]
}

/** Settings that need another one too. */
const besides: Partial<Record<SettingName, Partial<Record<SettingName, string>>>> = {
  node: { database_url: "postgres://u@h/d", node_address: "http://h" }
}

const atLeastTwenty = (values: ReadonlyArray<string>): ReadonlyArray<string> => {
  assert.isAtLeast(new Set(values).size, 20)
  return values
}

describe("a setting that cannot be used", () => {
  for (const name of Object.keys(fields) as ReadonlyArray<SettingName>)
    it.effect(`${name} stops the start in a sentence that names it and quotes nothing`, () =>
      Effect.forEach(atLeastTwenty(wrong[name] ?? numbers), (value) =>
        Effect.map(Effect.either(load({ ...besides[name], [name]: value }, {}, "/nowhere")), (loaded) => {
          assert.isTrue(Either.isLeft(loaded), `${name}=${JSON.stringify(value)} was taken`)
          if (Either.isRight(loaded)) return
          const { message } = loaded.left
          assert.include(message, name)
          assert.notInclude(message, "\n")
          assert.notInclude(message, "canary")
        })
      )
    )

  it.effect("may have what a URL writes in its own way", () =>
    Effect.gen(function* () {
      const right: ReadonlyArray<readonly [SettingName, string]> = [
        ["host", "[::1]"],
        ["host", "::"],
        ["host", "0.0.0.0"],
        ["host", "my-host.example.com"],
        ["host", "fe80::1%eth0"],
        ["smtp_url", "smtp://user:p%2Fa%40b%3Ac%23@mail.example.com:587"],
        ["smtp_url", "smtps://mail.example.com/?pool=true"],
        ["database_url", "postgres://user:p%2Fa%40b@[::1]:5432/reins?sslmode=require"],
        ["database_url", "postgresql:///reins?host=/var/run/postgresql"],
        ["database_url", "postgres://user:secret@/reins?host=/var/run/postgresql"],
        ["database_url", "postgres://%2Fvar%2Frun%2Fpostgresql/reins"],
        ["public_url", "https://example.com/reins/"],
        ["mail_from", "reins@localhost"],
        ["mail_from", "Reins, at work <reins@example.com>"],
        ["git_committer", "Reins, at work <reins@example.com>"],
        ["push_key", "VjNk3cGz0yYxTq1pWmRb7oEuLs5dHf9aKcJi2tZgXv4"],
        ["agent_processors", "0.5"]
      ]
      for (const [name, value] of right) {
        const loaded = yield* Effect.either(load({ [name]: value }, {}, "/nowhere"))
        assert.isTrue(Either.isRight(loaded), `${name}=${value}`)
      }
    })
  )
})
