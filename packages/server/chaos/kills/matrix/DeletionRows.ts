import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert } from "vitest"
import { sessionWithFiles } from "../Scenes.js"
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
