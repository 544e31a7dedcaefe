import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { bareRemote, temporary } from "@reins/testing/git/Fixture"
import { Effect, Layer, Redacted } from "effect"

const secret = "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary-Sq8rT2vX5nB7mK1p\n-----END OPENSSH PRIVATE KEY-----"
const knownHosts = "[git.lan]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
const key = { privateKey: Redacted.make(secret), knownHosts }

/**
 * An ssh that writes down what the real one would do with its arguments, and then runs the command on this machine. It is first on the PATH
 * until the scope closes.
 */
const recordingSsh = (root: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = { path: process.env.PATH, agent: process.env.SSH_AUTH_SOCK }
      const program = `#!/bin/sh
/usr/bin/ssh -G "$@" > '${root}/config'
printf '%s\\n' "$@" > '${root}/arguments'
env > '${root}/environment'
sed -n 's/^identityfile //p' '${root}/config' | while read -r file; do cat "$file"; ls -l "$file"; done > '${root}/keys'
cat "$(sed -n 's/^userknownhostsfile //p' '${root}/config')" > '${root}/hosts'
for command; do :; done
eval "exec $command"
`
      writeFileSync(join(root, "ssh"), program)
      chmodSync(join(root, "ssh"), 0o755)
      process.env.PATH = `${root}${delimiter}${before.path ?? ""}`
      process.env.SSH_AUTH_SOCK = "/run/operator-agent"
      return before
    }),
    ({ agent, path }) =>
      Effect.sync(() => {
        process.env.PATH = path
        if (agent === undefined) delete process.env.SSH_AUTH_SOCK
        else process.env.SSH_AUTH_SOCK = agent
      })
  )

const services = (allowSsh: boolean, allowPrivateHosts: ReadonlyArray<string>) =>
  Git.layerWith({ allowSsh }).pipe(
    Layer.provide(
      WayOut.layerWith({
        allowPrivateHosts,
        lookup: (_name, _options, found) => found(null, [{ address: "127.0.0.9", family: 4 }])
      })
    )
  )

describe("a repository through SSH", () => {
  it.scopedLive(
    "is reached with the key and the known hosts of the connection alone, at the address that was checked",
    () =>
      Effect.gen(function* () {
        const root = yield* temporary
        const bare = bareRemote(root, { "a.txt": "one\n" })
        yield* recordingSsh(root)
        const git = yield* Git
        const { commit } = yield* git.clone({
          url: `ssh://git@git.lan:2222${bare}`,
          ref: null,
          credential: key,
          gitDir: join(root, "trusted"),
          workTree: join(root, "tree")
        })
        assert.isNotNull(commit)
        const seen = (name: string) => readFileSync(join(root, name), "utf8")
        const config = seen("config").split("\n")
        assert.includeMembers(config, [
          "user git",
          "hostname 127.0.0.9",
          "port 2222",
          "hostkeyalias [git.lan]:2222",
          "identitiesonly yes",
          "identityagent none",
          "batchmode yes",
          "stricthostkeychecking true",
          "globalknownhostsfile /dev/null",
          "forwardagent no"
        ])
        assert.lengthOf(
          config.filter((line) => line.startsWith("identityfile ")),
          1
        )
        assert.include(seen("arguments"), "-F\n/dev/null")
        assert.include(seen("keys"), secret)
        assert.match(seen("keys"), /^-rw-------/m)
        assert.strictEqual(seen("hosts").trim(), knownHosts)
        assert.notInclude(seen("environment"), "SSH_AUTH_SOCK")
        for (const name of ["arguments", "environment"]) assert.notInclude(seen(name), "canary")
        const file = /^identityfile (.*)$/m.exec(seen("config"))?.[1] ?? ""
        assert.isFalse(existsSync(file), "the key is gone with the call")
      }).pipe(Effect.provide(services(true, ["git.lan"])))
  )

  it.scopedLive("is refused where the operator has not allowed it, without a key, and at a private address", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      yield* recordingSsh(root)
      const gitDir = join(root, "trusted")
      const end = (allowSsh: boolean, credential?: typeof key | { readonly token: Redacted.Redacted }) =>
        Effect.gen(function* () {
          const git = yield* Git
          if (!existsSync(gitDir)) yield* git.init({ gitDir, workTree: join(root, "tree") })
          const url = "git@git.lan:a.git"
          return (yield* Effect.flip(
            git.remoteHead({ gitDir, url, branch: "main", ...(credential && { credential }) })
          )).kind
        }).pipe(Effect.provide(services(allowSsh, [])))
      assert.strictEqual(yield* end(false, key), "remote_refused")
      assert.strictEqual(yield* end(true), "auth_required")
      assert.strictEqual(yield* end(true, { token: Redacted.make("t") }), "auth_required")
      assert.strictEqual(yield* end(true, key), "remote_refused")
      assert.isFalse(existsSync(join(root, "arguments")))
    })
  )
})
