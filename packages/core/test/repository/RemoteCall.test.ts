import { assert, it } from "@effect/vitest"
import { failureAt } from "@reins/machine/repository/remote/RemoteCall"
import { scrub } from "@reins/machine/repository/run/GitError"

const remoteThat = (isKnown: boolean, refusal?: string) => ({
  url: "https://git.example/a.git",
  env: {},
  secrets: [],
  isKnown,
  refused: () => refusal
})

const answered = (host: string) =>
  scrub(`remote: the inner answer
fatal: remote error: the inner answer
fatal: unable to access 'https://${host}/a.git/': The requested URL returned error: 403`)

it("a host that is not known is classified and not quoted; what git says of the connection is", () => {
  const stranger = failureAt(remoteThat(false), "fetch", answered("git.example"))
  assert.strictEqual(stranger.kind, "auth_required")
  assert.notInclude(stranger.message, "inner answer")
  assert.include(stranger.message, "returned error: 403")
  const home = failureAt(remoteThat(true), "fetch", answered("git.example"))
  assert.strictEqual(home.kind, "auth_required")
  assert.include(home.message, "remote: the inner answer")
})

it("a connection that the guard refused is the reason, whatever git makes of it", () => {
  const { kind, message } = failureAt(remoteThat(true, "It is private."), "fetch", answered("git.example"))
  assert.deepStrictEqual([kind, message], ["remote_refused", "It is private."])
})
