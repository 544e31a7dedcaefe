import { assert } from "vitest"
import {
  capture,
  changeOfRepository,
  deliver,
  delivered,
  newName,
  openMergeRequest,
  sessionWithFiles,
  upload
} from "../Scenes.js"
import { type Attempts, again, holdsAttempts, type Row } from "./Row.js"

export const captureIsSealedOnce = (attempts: Attempts): Row => ({
  rule: "a capture that was asked for is sealed, once",
  play: async (world, crash) => {
    const session = await sessionWithFiles(world, { "a.txt": "a\n", "b/c.txt": "c\n" })
    const { changeset, operation } = await crash(() =>
      world.api.sessions.capture({ session_id: session.id, label: newName("Capture") })
    )
    const sealed = await world.api.changesets.get({ changeset_id: changeset.id })
    assert.deepStrictEqual(
      [sealed.state, ...sealed.files.map((file) => file.path)],
      ["ready", "a.txt", "b/c.txt"],
      JSON.stringify(sealed)
    )
    const { content } = await world.api.changesets
      .files({ changeset_id: changeset.id, path: "b/c.txt" })
      .then(contentOf)
    assert.strictEqual(content, "c\n")
    await holdsAttempts(world, operation, attempts)
  }
})

const contentOf = <A extends object>(answer: A): { readonly content: unknown } =>
  "content" in answer ? { content: answer.content } : { content: undefined }

export const changesetIsAppliedOnce = (attempts: Attempts): Row => ({
  rule: "a changeset is applied whole, and says all that it changed",
  play: async (world, crash) => {
    const source = await sessionWithFiles(world, { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" })
    const target = await sessionWithFiles(world, { "own.txt": "own\n" })
    const changeset = await capture(world, source.id)
    const { application, operation } = await crash(() =>
      world.api.changesets.apply({ changeset_id: changeset.id, target_session_id: target.id })
    )
    const applied = await world.api.applications.get({ application_id: application.id })
    assert.deepInclude(applied, { state: "applied", conflicts: [], changed: ["a.txt", "b.txt", "c.txt"] })
    const { items } = await world.api.sessions.listFiles({ session_id: target.id })
    assert.sameMembers(
      items.map((file) => file.name),
      ["a.txt", "b.txt", "c.txt", "own.txt"]
    )
    await holdsAttempts(world, operation, attempts)
  }
})

export const branchIsPushedOnce = (attempts: Attempts): Row => ({
  rule: "a branch is pushed, once, and the delivery says so",
  play: async (world, crash) => {
    const changeset = await changeOfRepository(world)
    const { delivery, operation } = await crash(() => deliver(world, changeset.id))
    const end = await world.api.deliveries.get({ delivery_id: delivery.id })
    assert.strictEqual(end.state, "succeeded", JSON.stringify(end))
    const pushes = end.steps.filter((step) => step.kind === "push")
    assert.isTrue(pushes.length > 0 && pushes.every((step) => step.outcome === "succeeded"), JSON.stringify(end.steps))
    await holdsAttempts(world, operation, attempts)
  }
})

export const mergeRequestIsOpenedOnce = (attempts: Attempts): Row => ({
  rule: "a merge request is opened, once, and is known as our own",
  play: async (world, crash) => {
    const { id } = await delivered(world)
    const { merge_request, operation } = await crash(() => openMergeRequest(world, id))
    const request = await world.api.mergeRequests.get({ merge_request_id: merge_request.id })
    assert.deepInclude(request, { state: "open", adopted: false })
    await holdsAttempts(world, operation, attempts)
  }
})

export const mergeRequestIsMergedOnce: Row = {
  rule: "a merge request is merged, once, and says so",
  play: async (world, crash) => {
    const delivery = await delivered(world)
    const opened = await openMergeRequest(world, delivery.id)
    await world.api.jobs.wait({ job_id: opened.operation.job_id })
    const { merge_request, operation } = await crash(() =>
      world.api.mergeRequests.merge({
        merge_request_id: opened.merge_request.id,
        expected_head_sha: delivery.commit ?? ""
      })
    )
    const request = await world.api.mergeRequests.get({ merge_request_id: merge_request.id })
    assert.strictEqual(request.state, "merged", JSON.stringify(request))
    await holdsAttempts(world, operation, again)
  }
}

export const fileIsUploaded: Row = {
  rule: "an upload that expected no file is there, though it was written before it was answered",
  play: async (world, crash) => {
    const session = await sessionWithFiles(world, { "a.txt": "a\n" })
    const input = { session_id: session.id, path: "new.txt", content: "new\n", expected_digest: "absent" }
    const { file } = await crash(() => world.api.sessions.uploadFile(input))
    assert.strictEqual(file.size, 4)
    await upload(world, session.id, { "a.txt": "next\n" })
  }
}
