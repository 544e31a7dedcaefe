import { existsSync } from "node:fs"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { password } from "@reins/testing/process/Caller"
import { Schema } from "effect"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newName, sessionWithFiles } from "../Scenes.js"
import { type Attempts, holdsAttempts, type Row } from "./Row.js"

export const sessionIsDeletedOnce = (attempts: Attempts): Row => ({
  rule: "a session that is deleted goes with its files, and leaves a receipt",
  play: async (installation, crash) => {
    const { id: session_id } = await sessionWithFiles(installation, { "a.txt": "one\n" })
    const receipt = await crash(() => installation.api.sessions.delete({ session_id }))
    const job = await installation.api.jobs.wait({ job_id: receipt.job_id })
    assert.strictEqual(job.state, "succeeded", JSON.stringify(job))
    const done = await installation.api.sessions.getDeletion({ session_id })
    assert.strictEqual(done.state, "deleted")
    assert.deepStrictEqual(await installation.api.sessions.delete({ session_id }), done)
    assert.isFalse(existsSync(join(installation.dataDir, "sessions", session_id)))
    await holdsAttempts(installation, receipt, attempts)
    installation.ledger.forget(session_id)
  }
})

const Id = Schema.Struct({ id: Schema.String })

/** The rows of a table with an id. */
const rowsOf = (installation: Installation, table: string, id: string) =>
  installation.records.all(Id, `select id from ${table} where id = '${id}'`)

export const projectIsDeletedOnce = (attempts: Attempts): Row => ({
  rule: "a project that is deleted goes with its versions, its sessions stay, and a receipt is left",
  play: async (installation, crash) => {
    const { api, workspaceId: workspace_id } = installation
    const { id: project_id } = await api.projects.create({
      workspace_id,
      name: "Shop",
      slug: newName("p").replaceAll(" ", "-"),
      spec: { environment: [{ name: "MODE", value: "test" }] }
    })
    const session = await api.sessions.create({ workspace_id, project_id })
    const receipt = await crash(() => api.projects.delete({ project_id }))
    await installation.settled()
    const done = await api.projects.getDeletion({ project_id })
    assert.strictEqual(done.state, "deleted")
    assert.isNull((await api.sessions.get({ session_id: session.id })).project_id)
    assert.deepStrictEqual(await rowsOf(installation, "projects", project_id), [])
    await holdsAttempts(installation, receipt, attempts)
    installation.ledger.forget(project_id)
  }
})

export const workspaceIsDeleted: Row = {
  rule: "a workspace that is deleted goes with its sessions, and leaves a receipt",
  play: async (installation, crash) => {
    const { api } = installation
    const name = newName("Team")
    const { id: workspace_id } = await api.workspaces.create({ name })
    await api.connections.create({
      workspace_id,
      kind: "alpha_gateway",
      label: "gateway",
      credential: { base_url: installation.gateway.url, api_key: "k" }
    })
    const { id } = await api.sessions.create({ workspace_id, title: "It goes" })
    await crash(() => api.workspaces.delete({ workspace_id, confirm: name }))
    await installation.settled()
    assert.strictEqual((await api.workspaces.getDeletion({ workspace_id })).state, "deleted")
    assert.deepStrictEqual(await rowsOf(installation, "workspaces", workspace_id), [])
    assert.deepStrictEqual(await rowsOf(installation, "sessions", id), [])
    installation.ledger.forget(workspace_id)
  }
}

export const accountIsDeleted: Row = {
  rule: "an account that is deleted goes with its personal workspace",
  play: async (installation, crash) => {
    const apiKey = installation.newAccount(`${newName("leaver").replaceAll(" ", "-")}@example.com`)
    const client = new Reins({ baseUrl: installation.url, apiKey })
    const { account, workspaces } = await client.accounts.getMe()
    await crash(() => client.accounts.delete({ password }))
    await installation.settled()
    assert.deepStrictEqual(await rowsOf(installation, "accounts", account.id), [])
    for (const { id } of workspaces) assert.deepStrictEqual(await rowsOf(installation, "workspaces", id), [])
  }
}
