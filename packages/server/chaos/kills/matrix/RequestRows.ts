import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import {
  capture,
  changeOfRepository,
  deliver,
  delivered,
  newName,
  newSession,
  openMergeRequest,
  say,
  sessionWithFiles,
  upload
} from "../Scenes.js"
import type { Row } from "./Row.js"

/** Mutations by what they do; each prepares, and gives back the one request during which the server is killed. */
const mutations: Readonly<Record<string, (installation: Installation) => Promise<() => Promise<unknown>>>> = {
  "creates a session with its first message": async (installation) => () =>
    newSession(installation, { message: say("Hello.") }),
  "leaves a note": async (installation) => {
    const session = await newSession(installation)
    return () => installation.api.messages.send({ session_id: session.id, content: newName("Note"), routing: "note" })
  },
  delegates: async (installation) => {
    const session = await newSession(installation)
    return () =>
      installation.api.sessions.delegate({
        session_id: session.id,
        role: newName("Scout"),
        instructions: say("I looked.")
      })
  },
  "uploads a file": async (installation) => {
    const session = await sessionWithFiles(installation, { "a.txt": "one\n" })
    return () => upload(installation, session.id, { "a.txt": "two\n" })
  },
  captures: async (installation) => {
    const session = await sessionWithFiles(installation, { "a.txt": "one\n" })
    return () => capture(installation, session.id)
  },
  applies: async (installation) => {
    const source = await sessionWithFiles(installation, { "a.txt": "one\n" })
    const target = await sessionWithFiles(installation, { "b.txt": "two\n" })
    const changeset = await capture(installation, source.id)
    return () => installation.api.changesets.apply({ changeset_id: changeset.id, target_session_id: target.id })
  },
  delivers: async (installation) => {
    const changeset = await changeOfRepository(installation)
    return () => deliver(installation, changeset.id)
  },
  "opens a merge request": async (installation) => {
    const delivery = await delivered(installation)
    return () => openMergeRequest(installation, delivery.id)
  },
  "publishes a version": async (installation) => {
    const project = await installation.api.projects.create({
      workspace_id: installation.workspaceId,
      slug: newName("project").replace(" ", "-"),
      name: "Project"
    })
    return () => installation.api.projects.publish({ project_id: project.id, spec: {}, notes: newName("Version") })
  },
  "makes a key, whose secret is shown again": async (installation) => () =>
    installation.api.apiKeys.create({ name: newName("Key") }),
  "stores a credential": async (installation) => () =>
    installation.api.connections.create({
      workspace_id: installation.workspaceId,
      kind: "gitea",
      label: newName("Forge"),
      credential: { base_url: installation.origin.base, token: "t" }
    }),
  "closes a session": async (installation) => {
    const session = await newSession(installation)
    return () => installation.api.sessions.close({ session_id: session.id })
  }
}

/** Before the commit nothing is there and the repetition does it; after it, the repetition is told what the first was not. */
export const requestIsDoneOnce = (before: "commit" | "answer"): ReadonlyArray<Row> =>
  Object.entries(mutations).map(([what, prepare]) => ({
    rule: `a request that ${what} does so once, though its server was killed before the ${before}`,
    play: async (installation, crash) => {
      const act = await prepare(installation)
      const from = installation.ledger.entries.length
      await crash(act)
      assert.strictEqual(installation.ledger.entries[from]?.replayed, before === "answer")
    }
  }))
