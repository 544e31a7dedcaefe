import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import { Projects } from "@reins/core/projects/Projects"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Journal } from "@reins/core/store/Journal"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { bareRemote } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { listingOf } from "@reins/testing/sessions/Listing"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { backUp, capture, databases, installation, restoreTo, temporary } from "./Installations.js"

const password = "canary-Hq8rT2vX5nB7mK1p"
const basic = `Basic ${Buffer.from(`ann:${password}`).toString("base64")}`

/** A sealed session of a private repository, with a changeset and an upload. */
const sealed = (url: string) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* ownerWithConnection
    const credential = { origin: new URL(url).origin, username: "ann", password }
    const git = yield* (yield* Connections).create(principal, workspaceId, { kind: "git", label: "git", credential })
    const spec = { repository: { url }, connection_ids: [git.id] }
    const project = yield* (yield* Projects).create(principal, workspaceId, { slug: "p", name: "p", spec })
    const { id } = yield* (yield* Sessions).create(principal, workspaceId, { project_id: project.id })
    const upload = (path: string, mode: string) =>
      Effect.flatMap(SessionFiles, (files) => files.upload(principal, id, { path, content: "one\n", mode }))
    yield* upload("notes/a.txt", "0755")
    const changeset = yield* capture(id)
    const snapshots = yield* Snapshots
    const trees = yield* WorkingTrees
    yield* trees.exclusive(id, snapshots.sealAnew(id))
    const { diff } = yield* (yield* Changesets).diff(principal, changeset, {})
    return { id, principal, changeset, diff, paths: yield* pathsOf(id), upload }
  })

for (const { name, place: makePlace } of databases.filter(({ name }) =>
  flowDatabases.some((flow) => flow.name === name)
))
  describe(`a backup on ${name} of files that are in a snapshot alone`, () => {
    it.scopedLive(
      "has them with their base, so that the restore asks no remote, and says without the keys what it lacks",
      () =>
        Effect.gen(function* () {
          const place = yield* makePlace
          const root = yield* temporary
          const [dataDir, elsewhere, file] = [join(root, "data"), join(root, "elsewhere"), join(root, "backup.tar")]
          const keyRing = join(dataDir, "keyring.json")
          const settings = {
            allowPrivateHosts: ["127.0.0.1"],
            blobs: { kind: "directory" as const, path: join(root, "blobs") }
          }
          const config = CoreConfig.from({ dataDir, ...settings })
          bareRemote(root, { "a.txt": "a\n" })
          const { changeset, diff, id, principal, tree } = yield* Effect.gen(function* () {
            const server = yield* gitHttpServer(root, basic)
            const work = yield* sealed(`${server.url}/remote.git`)
            const tree = listingOf(work.paths.workTree)
            rmSync(work.paths.root, { recursive: true })
            const made = yield* backUp(place, dataDir, file, { config })
            assert.deepStrictEqual([made.manifest.lacks, made.manifest.missing], [[], []])
            assert.deepStrictEqual(Object.keys(made.manifest.from_snapshots), [work.id])

            const keyless = { ...config, keyFile: join(root, "none.json") }
            const without = yield* backUp(place, dataDir, `${file}.keyless`, { config: keyless })
            assert.deepStrictEqual(without.manifest.missing, [work.id])
            assert.notInclude(JSON.stringify(without.manifest), password)

            yield* (yield* Journal).commit((yield* Snapshots).changed(work.id))
            const unsealed = yield* backUp(place, dataDir, `${file}.unsealed`, { config })
            assert.deepInclude(unsealed.manifest.lacks[0], { session_id: work.id, missing: false, node: null })
            assert.isNotNull(unsealed.manifest.lacks[0]?.unsealed_since)
            return { ...work, tree }
          }).pipe(Effect.provide(installation(place, dataDir, settings)), Effect.scoped)

          // The remote and the store are gone.
          rmSync(join(root, "remote.git"), { recursive: true })
          rmSync(settings.blobs.path, { recursive: true })
          yield* restoreTo(place, file, elsewhere, { keyRing })
          assert.deepStrictEqual(listingOf(join(elsewhere, "sessions", id, "workspace")), tree)
          yield* Effect.gen(function* () {
            assert.strictEqual((yield* (yield* Changesets).diff(principal, changeset, {})).diff, diff)
            const { workTree } = yield* pathsOf(id)
            writeFileSync(join(workTree, "a.txt"), "changed\n")
            const next = yield* capture(id)
            assert.include((yield* (yield* Changesets).diff(principal, next, {})).diff, "+changed")
            assert.strictEqual(readFileSync(join(workTree, "notes/a.txt"), "utf8"), "one\n")
          }).pipe(Effect.provide(installation(place, elsewhere)))
        })
    )
  })
