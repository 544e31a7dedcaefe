import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, layer } from "@effect/vitest"
import { plantDevices } from "@reins/testing/git/Fixture"
import { within } from "@reins/testing/MachineTime"
import { variants } from "@reins/testing/Variants"
import { raceSeconds, raceTimeout } from "@reins/testing/Volume"
import { Effect, Layer } from "effect"
import { canary, capture, newTarget, Target } from "./FilesTarget.js"
import { hostilePaths, wellFormed } from "./HostilePaths.js"
import { Caller, change, type Reply, send, service } from "./Service.js"

/** Links, pipes, sockets and devices as an agent could leave them. */
const plant = ({ outside, root }: { readonly root: string; readonly outside: string }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      fs.symlinkSync("../outside", join(root, "link"))
      fs.symlinkSync("../../outside", join(root, "dir/link"))
      fs.symlinkSync("../outside/secret", join(root, "link-file"))
      fs.symlinkSync("nowhere", join(root, "dangling"))
      fs.symlinkSync("loop", join(root, "loop"))
      fs.linkSync(join(outside, "secret"), join(root, "hard"))
      execFileSync("mkfifo", [join(root, "fifo")])
      plantDevices(root)
      const listener = createServer()
      // The path of a socket is short by law; from inside the directory it is.
      await new Promise<void>((resolve) => void listener.listen(relativeTo(join(root, "socket")), resolve))
      return listener
    }),
    (listener) => Effect.sync(() => listener.close())
  )

const relativeTo = (path: string): string => {
  const short = join(fs.mkdtempSync("/tmp/s-"), "d")
  fs.symlinkSync(join(path, ".."), short)
  return join(short, "socket")
}

const allowed: ReadonlySet<number> = new Set([200, 404, 409, 413, 422])

const assertHarmless = (reply: Reply, what: string) => {
  assert.isTrue(allowed.has(reply.status), `${what}: ${reply.status} ${reply.text.slice(0, 200)}`)
  assert.notInclude(reply.text, canary, what)
  assert.notInclude(reply.text, Buffer.from(canary).toString("base64").slice(0, 20), what)
  assert.notInclude(reply.text, createHash("sha256").update(canary).digest("hex"), what)
  assert.notInclude(reply.text, "root:x:0", what)
}

/** Everything outside the workspace that the session has on disk, by name and content. */
const fingerprint = (outside: string): string =>
  JSON.stringify([
    fs.readdirSync(join(outside, "..")).sort(),
    fs.readdirSync(outside).map((name) => [name, fs.readFileSync(join(outside, name), "utf8")])
  ])

/** Asks for each path in every way, and finds nothing of outside in the answers and nothing changed there. */
const staysInside = (target: Effect.Effect.Success<typeof newTarget>, paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { bearer: headers } = yield* Caller
    yield* plant(target)
    assert.isAtLeast(paths.length, 150)
    const before = fingerprint(target.outside)
    const one = Effect.fnUntraced(function* (path: string) {
      const query = `?path=${encodeURIComponent(wellFormed(path))}`
      const digest = { expected_digest: `sha256:${"0".repeat(64)}` }
      const replies = yield* Effect.all([
        send("GET", target.files + query, { headers }),
        send("GET", target.content + query, { headers }),
        send("GET", target.changeset + query, { headers }),
        // As it stands, and not decoded by anybody before it is sent.
        send("GET", `${target.content}?path=${path.replace(/[^!-~]|[#&+]/g, "")}`, { headers }),
        change("POST", target.upload, { headers, body: { path, content: "W", ...digest } }),
        change("POST", target.upload, { headers, body: { path, content: "W" } })
      ])
      for (const reply of replies) assertHarmless(reply, JSON.stringify(path).slice(0, 100))
    })
    yield* Effect.forEach(paths, one, { concurrency: 8, discard: true }).pipe(within(240))
    assert.strictEqual(fingerprint(target.outside), before)
    // A file that cannot be opened for reading is refused at once rather than waited for.
    for (const path of ["/dev/zero", "fifo", "socket"]) {
      const reply = yield* send("GET", `${target.content}?path=${encodeURIComponent(path)}`, { headers })
      assert.include([404, 422, 200], reply.status)
    }
  })

const swapper = `
const fs = require("node:fs")
const { parentPort, workerData: { root } } = require("node:worker_threads")
fs.mkdirSync(root + "/race", { recursive: true })
fs.writeFileSync(root + "/race/secret", "inside")
parentPort.postMessage("started")
for (;;) {
  try { fs.renameSync(root + "/race", root + "/away"); fs.symlinkSync("../outside", root + "/race"); fs.unlinkSync(root + "/race"); fs.renameSync(root + "/away", root + "/race") }
  catch { try { fs.rmSync(root + "/race", { recursive: true, force: true }); fs.renameSync(root + "/away", root + "/race") } catch {} }
}
`

layer(Target.layer.pipe(Layer.provideMerge(service())), { excludeTestServices: true })(
  "a hostile workspace over HTTP",
  (it) => {
    it.scoped(
      "no spelling of a path leads out of the workspace, into a repository or to an error of the service",
      () => Effect.flatMap(Target, (target) => staysInside(target, hostilePaths.first)),
      300_000
    )

    variants(() => {
      it.scoped(
        "no other shape of these spellings does",
        () => Effect.flatMap(newTarget, (target) => staysInside(target, hostilePaths.others)),
        300_000
      )
    })

    it.scoped(
      "a capture takes no pipe, socket or device, and no file that leads out, of which its changeset tells",
      () =>
        Effect.gen(function* () {
          const target = yield* newTarget
          yield* plant(target)
          const { diagnostics, files } = yield* capture(target.sessionId)
          assert.deepStrictEqual(
            files.map(({ path }) => path),
            ["dangling", "dir/inside.txt", "dir/link", "link", "link-file", "loop"]
          )
          assert.deepStrictEqual(diagnostics, [
            `"hard" was left out: it is a hard link to a file outside the workspace. Copy the file instead`
          ])
        })
    )

    it.scoped(
      "a directory that is exchanged with a link meanwhile never gives or takes a byte outside",
      () =>
        Effect.gen(function* () {
          const { bearer: headers } = yield* Caller
          const target = yield* Target
          const before = fingerprint(target.outside)
          const worker = yield* Effect.acquireRelease(
            Effect.sync(() => new Worker(swapper, { eval: true, workerData: { root: target.root } })),
            (running) => Effect.promise(() => running.terminate())
          )
          yield* Effect.async<void>((resume) => void worker.once("message", () => resume(Effect.void)))
          const end = Date.now() + raceSeconds * 1000
          let served = 0
          while (Date.now() < end || served <= 5) {
            const replies = yield* Effect.all(
              [
                send("GET", `${target.content}?path=race/secret`, { headers }),
                send("GET", `${target.files}?path=race`, { headers }),
                change("POST", target.upload, { headers, body: { path: "race/written", content: "W" } }),
                change("POST", target.upload, {
                  headers,
                  body: { path: "race/secret", content: "W", expected_digest: `sha256:${"0".repeat(64)}` }
                })
              ],
              { concurrency: "unbounded" }
            )
            for (const reply of replies) assertHarmless(reply, "race")
            served += replies.filter((reply) => reply.status === 200).length
          }
          assert.strictEqual(fingerprint(target.outside), before)
        }),
      raceTimeout
    )
  }
)
