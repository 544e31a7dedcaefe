import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { flowDatabases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Effect, Runtime } from "effect"
import * as fc from "fast-check"
import { agentGit, listingOf, put, repositoryOf, sealedSession, withSnapshots } from "./Snapshooting.js"

const base = {
  ".gitignore": "*.log\nbuild/\n.env\n",
  "a.txt": "one\n",
  "dir/b.txt": "two\n",
  "dir/deep/c.txt": "three\n",
  "run.sh": "#!/bin/sh\n"
}

const name = fc.constantFrom("a.txt", "dir", "deep", "build", ".env", "x.log", "with space", "ünï", "-dash", "b.txt")
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"))
const content = fc.oneof(
  fc.string(),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
)
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444, 0o664, 0o711)

/** A thing that an agent does to its workspace. One that cannot be done is left out. */
const deed = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("write" as const), path, content, mode }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), path }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("link" as const),
      path,
      to: fc.constantFrom("a.txt", "/etc/passwd", "../../..", "nowhere")
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("folder" as const), path, mode: fc.constantFrom(0o755, 0o700, 0o775) })
  },
  { weight: 1, arbitrary: fc.constant({ do: "commit" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "stash" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("nested" as const), path }) }
)

type Deed = typeof deed extends fc.Arbitrary<infer A> ? A : never

const doIt = (workTree: string, what: Deed): void => {
  try {
    if (what.do === "write") put(workTree, what.path, what.content, what.mode)
    else if (what.do === "remove") fs.rmSync(join(workTree, what.path), { recursive: true })
    else if (what.do === "link") fs.symlinkSync(what.to, join(workTree, what.path))
    else if (what.do === "folder") fs.mkdirSync(join(workTree, what.path), { recursive: true, mode: what.mode })
    else if (what.do === "stash") agentGit(workTree, "stash", "--include-untracked")
    else if (what.do === "commit") {
      agentGit(workTree, "add", "--all")
      agentGit(workTree, "commit", "--quiet", "--message=work")
    } else {
      fs.mkdirSync(join(workTree, what.path), { recursive: true })
      agentGit(join(workTree, what.path), "init", "--quiet")
    }
  } catch {
    // A path may lead through a file, or be taken.
  }
}

describe("snapshots", () => {
  for (const { layer, name } of flowDatabases)
    it.scopedLive(
      `give every tree back byte for byte on ${name}`,
      () =>
        Effect.gen(function* () {
          const runtime = yield* Effect.runtime<Effect.Effect.Context<ReturnType<typeof sealedSession>>>()
          const once = Effect.fnUntraced(function* (
            files: typeof base | null,
            sparse: ReadonlyArray<string> | null,
            first: ReadonlyArray<Deed>,
            second: ReadonlyArray<Deed>
          ) {
            const session = yield* sealedSession(files, undefined, sparse)
            const { workTree } = session.paths
            for (const deeds of [first, second]) {
              for (const each of deeds) doIt(workTree, each)
              yield* session.seal
            }
            const before = { files: listingOf(workTree), repository: repositoryOf(workTree) }
            yield* session.lose
            const { left_out, skipped } = yield* session.restore
            assert.deepStrictEqual([left_out.filter(({ reason }) => reason !== "not_captured"), skipped], [[], []])
            assert.deepStrictEqual(listingOf(workTree), before.files)
            assert.strictEqual(repositoryOf(workTree), before.repository)
          })
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(
                fc.constantFrom(base, null),
                fc.option(fc.subarray(["dir", "dir/deep", "build", "elsewhere"], { minLength: 1 })),
                fc.array(deed, { maxLength: 12 }),
                fc.array(deed, { maxLength: 5 }),
                (files, sparse, first, second) =>
                  Runtime.runPromise(runtime)(Effect.scoped(once(files, sparse, first, second)))
              ),
              { numRuns: walks.snapshots }
            )
          )
        }).pipe(Effect.provide(withSnapshots(layer))),
      walks.snapshots * 20_000
    )
})
