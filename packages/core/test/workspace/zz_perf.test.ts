import { join } from "node:path"
import { it } from "@effect/vitest"
import { Git } from "@reins/core/workspace/Git"
import { Effect } from "effect"
import { cloned, gitLayer, put, temporary } from "./Fixture.js"

it.scopedLive("perf", () =>
  Effect.gen(function* () {
    const files: Record<string, string> = {}
    for (let i = 0; i < 10000; i++)
      files[`src/d${i % 100}/s${i % 7}/f${i}.ts`] = `export const x${i} = ${i}\n`.repeat(20)
    let t = performance.now()
    const { base, git, gitDir, workTree, root, url } = yield* cloned(files)
    console.log("setup+clone", performance.now() - t)
    t = performance.now()
    yield* git.clone({ url, ref: null, gitDir: join(root, "t2"), workTree: join(root, "w2") })
    console.log("clone", performance.now() - t)
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 52; i++) put(workTree, `src/d${i}/s${i % 7}/f${i}.ts`, `changed ${round} ${i}\n`)
      t = performance.now()
      const s = yield* git.snapshot({ gitDir, workTree, base })
      console.log("snapshot 52", s.fileCount, performance.now() - t)
      t = performance.now()
      yield* git.snapshot({ gitDir, workTree, base })
      console.log("snapshot again", performance.now() - t)
      t = performance.now()
      yield* git.subject({ gitDir, base, tree: s.tree })
      console.log("subject", performance.now() - t)
      t = performance.now()
      yield* git.diff({ gitDir, base, tree: s.tree })
      console.log("diff", performance.now() - t)
    }
    const r = yield* temporary
    yield* git.init({ gitDir: join(r, "t"), workTree: join(r, "w") })
    for (const [p, c] of Object.entries(files)) put(join(r, "w"), p, c)
    for (let k = 0; k < 2; k++) {
      t = performance.now()
      yield* git.snapshot({ gitDir: join(r, "t"), workTree: join(r, "w"), base: null })
      console.log("first 10k", performance.now() - t)
    }
  }).pipe(Effect.provide(gitLayer))
)
